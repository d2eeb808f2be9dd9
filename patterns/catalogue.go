package main

// chapter is a part of the catalogue.
type chapter struct {
	title   string
	recipes recipes
}

var chapters = []chapter{
	{"Keys and reads", recipes{
		pointQuery, rangeQuery, partitionScan, severalPoints, sortedKeys, compoundKeys, projection, typedFilters, resume, sharedAccess,
	}},
	{"Writes and transactions", recipes{
		optimistic, replaceOrMerge, severalTypes, compoundEntity, entityTypes, batchErrors, bulkWork, parallel, smoothBurst, sessions, rateLimit, oneAtATime, leader, onceOnly,
	}},
	{"Indexes and copies", recipes{
		intraPartitionIndex, interPartitionIndex, indexEntities, indexEntitiesElsewhere, denormalization, uniqueEmail, moveDepartment, newIndex, adoptATable,
		summary,
		quotaOfCustomers, moneyBetweenAccounts, stackWithCharts,
	}},
	{"Effects in other places", recipes{
		archiving, archiveByQuery, archiveDirectory, materializedView, searchIndex, workers, manyWorkers, lostNotifications,
	}},
	{"Logs, series and large values", recipes{
		logTail, changeLog, spreadLog, tableByDay, logDataInBlobs, dataSeries, wideEntity, largeEntity,
	}},
}

// catalogue contains the recipes of all chapters.
var catalogue = allRecipes()

func allRecipes() (all recipes) {
	for _, c := range chapters {
		all = append(all, c.recipes...)
	}
	return all
}
