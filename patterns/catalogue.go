package main

// catalogue lists the recipes in the order of the guide.
var catalogue = []recipe{
	pointQuery,
	rangeQuery,
	partitionScan,
	severalPoints,
	sortedKeys,
	compoundKeys,
	compoundEntity,
	severalTypes,
	parallel,
	bulk,
	projection,
	typedFilters,
	resume,
	batchErrors,
	optimistic,
	replaceOrMerge,
	entityTypes,
	sharedAccess,
	intraPartitionIndex,
	indexEntities,
	denormalization,
	summary,
}
