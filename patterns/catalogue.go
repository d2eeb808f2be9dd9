package main

import (
	"github.com/aztablekit/aztablekit/patterns/archivedirectory"
	"github.com/aztablekit/aztablekit/patterns/balances"
	"github.com/aztablekit/aztablekit/patterns/batcherrors"
	"github.com/aztablekit/aztablekit/patterns/bulk"
	"github.com/aztablekit/aztablekit/patterns/changelog"
	"github.com/aztablekit/aztablekit/patterns/claims"
	"github.com/aztablekit/aztablekit/patterns/closedorders"
	"github.com/aztablekit/aztablekit/patterns/compoundkeys"
	"github.com/aztablekit/aztablekit/patterns/dataseries"
	"github.com/aztablekit/aztablekit/patterns/dispatch"
	"github.com/aztablekit/aztablekit/patterns/entitytypes"
	"github.com/aztablekit/aztablekit/patterns/formerstaff"
	"github.com/aztablekit/aztablekit/patterns/headcount"
	"github.com/aztablekit/aztablekit/patterns/indexentities"
	"github.com/aztablekit/aztablekit/patterns/indexentitieselsewhere"
	"github.com/aztablekit/aztablekit/patterns/internal/recipe"
	"github.com/aztablekit/aztablekit/patterns/interpartitionindex"
	"github.com/aztablekit/aztablekit/patterns/logdatainblobs"
	"github.com/aztablekit/aztablekit/patterns/logins"
	"github.com/aztablekit/aztablekit/patterns/lostnotifications"
	"github.com/aztablekit/aztablekit/patterns/managers"
	"github.com/aztablekit/aztablekit/patterns/materializedview"
	"github.com/aztablekit/aztablekit/patterns/money"
	"github.com/aztablekit/aztablekit/patterns/movedepartment"
	"github.com/aztablekit/aztablekit/patterns/newindex"
	"github.com/aztablekit/aztablekit/patterns/oldorders"
	"github.com/aztablekit/aztablekit/patterns/once"
	"github.com/aztablekit/aztablekit/patterns/phonenumbers"
	"github.com/aztablekit/aztablekit/patterns/photos"
	"github.com/aztablekit/aztablekit/patterns/pointquery"
	"github.com/aztablekit/aztablekit/patterns/prices"
	"github.com/aztablekit/aztablekit/patterns/projection"
	"github.com/aztablekit/aztablekit/patterns/quota"
	"github.com/aztablekit/aztablekit/patterns/rangequery"
	"github.com/aztablekit/aztablekit/patterns/ratelimit"
	"github.com/aztablekit/aztablekit/patterns/replacemerge"
	"github.com/aztablekit/aztablekit/patterns/resume"
	"github.com/aztablekit/aztablekit/patterns/reviews"
	"github.com/aztablekit/aztablekit/patterns/scans"
	"github.com/aztablekit/aztablekit/patterns/searchindex"
	"github.com/aztablekit/aztablekit/patterns/severalpoints"
	"github.com/aztablekit/aztablekit/patterns/severaltypes"
	"github.com/aztablekit/aztablekit/patterns/sharedaccess"
	"github.com/aztablekit/aztablekit/patterns/smoothburst"
	"github.com/aztablekit/aztablekit/patterns/sortedkeys"
	"github.com/aztablekit/aztablekit/patterns/spreadlog"
	"github.com/aztablekit/aztablekit/patterns/stacks"
	"github.com/aztablekit/aztablekit/patterns/staffsearch"
	"github.com/aztablekit/aztablekit/patterns/tablebyday"
	"github.com/aztablekit/aztablekit/patterns/teams"
	"github.com/aztablekit/aztablekit/patterns/typedfilters"
	"github.com/aztablekit/aztablekit/patterns/uniqueemail"
	"github.com/aztablekit/aztablekit/patterns/wideentity"
	"github.com/aztablekit/aztablekit/patterns/workers"
)

// chapter is a part of the catalogue.
type chapter struct {
	title   string
	recipes recipe.Recipes
}

var chapters = []chapter{
	{"Keys and reads", recipe.Recipes{
		pointquery.Recipe, rangequery.Recipe, scans.Recipe, severalpoints.Recipe, sortedkeys.Recipe,
		compoundkeys.Recipe, projection.Recipe, typedfilters.Recipe, resume.Recipe,
		sharedaccess.Recipe,
	}},
	{"Writes and transactions", recipe.Recipes{
		balances.Recipe, replacemerge.Recipe, severaltypes.Recipe, reviews.Recipe,
		entitytypes.Recipe, batcherrors.Recipe, bulk.Recipe, headcount.Recipe, smoothburst.Recipe,
		logins.Recipe, ratelimit.Recipe, prices.Recipe, dispatch.Recipe, once.Recipe,
	}},
	{"Indexes and copies", recipe.Recipes{
		staffsearch.Recipe, interpartitionindex.Recipe, indexentities.Recipe,
		indexentitieselsewhere.Recipe, managers.Recipe, uniqueemail.Recipe, movedepartment.Recipe,
		newindex.Recipe, oldorders.Recipe, teams.Recipe, quota.Recipe, money.Recipe, stacks.Recipe,
	}},
	{"Effects in other places", recipe.Recipes{
		formerstaff.Recipe, closedorders.Recipe, archivedirectory.Recipe, materializedview.Recipe,
		searchindex.Recipe, workers.Recipe, phonenumbers.Recipe, lostnotifications.Recipe,
	}},
	{"Logs, series and large values", recipe.Recipes{
		claims.Recipe, changelog.Recipe, spreadlog.Recipe, tablebyday.Recipe, logdatainblobs.Recipe,
		dataseries.Recipe, wideentity.Recipe, photos.Recipe,
	}},
}

// catalogue contains the recipes of all chapters.
var catalogue = allRecipes()

func allRecipes() (all recipe.Recipes) {
	for _, c := range chapters {
		all = append(all, c.recipes...)
	}
	return all
}
