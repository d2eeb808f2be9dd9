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
	bulkWork,
	smoothBurst,
	projection,
	typedFilters,
	resume,
	batchErrors,
	optimistic,
	replaceOrMerge,
	entityTypes,
	sharedAccess,
	intraPartitionIndex,
	interPartitionIndex,
	indexEntities,
	indexEntitiesElsewhere,
	denormalization,
	uniqueEmail,
	moveDepartment,
	newIndex,
	summary,
	archiving,
	archiveDirectory,
	materializedView,
	searchIndex,
	lostNotifications,
	logTail,
	spreadLog,
	tableByDay,
	dataSeries,
	wideEntity,
	largeEntity,
	logDataInBlobs,
}

// findRecipe returns the recipe of a name, and reports whether there is one.
func findRecipe(name string) (recipe, bool) {
	for _, r := range catalogue {
		if r.name == name {
			return r, true
		}
	}
	return recipe{}, false
}
