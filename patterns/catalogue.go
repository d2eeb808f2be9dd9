package main

// catalogue lists the recipes in the order of the guide.
var catalogue = []recipe{
	pointQuery,
	rangeQuery,
	partitionScan,
	severalPoints,
	sortedKeys,
	compoundKeys,
	projection,
	typedFilters,
	optimistic,
	replaceOrMerge,
}
