package settings

import (
	"net/http"

	"github.com/aztablekit/aztablekit/storagetest/internal/protocol"
)

// WantsStatistics reports whether a request is for the statistics of the service, if it is for the account.
func WantsStatistics(r *protocol.Request) bool {
	return r.Method == http.MethodGet && r.Query.Get("restype") == "service" && r.Query.Get("comp") == "stats"
}

// Statistics returns how far the second location is, as an XML document.
func Statistics(r *protocol.Request) []byte {
	return []byte("\ufeff" + `<?xml version="1.0" encoding="utf-8"?><StorageServiceStats><GeoReplication><Status>live</Status><LastSyncTime>` +
		r.LastSync.UTC().Format(http.TimeFormat) + "</LastSyncTime></GeoReplication></StorageServiceStats>")
}
