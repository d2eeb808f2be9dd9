package materialized

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/reserved"
)

// contentOf returns the properties of a derived entity that follow from the entity: not those that a write or a maintainer adds.
func contentOf(columns []edm.Column) []edm.Column {
	own := slices.Clone(columns)
	return slices.DeleteFunc(own, func(c edm.Column) bool {
		return slices.Contains([]string{reserved.OperationID, reserved.Incarnation, reserved.MaintainerState, reserved.Owner}, c.Name) || c.Value.Kind == edm.Absent
	})
}

// digestOf returns a digest of properties, which does not depend on their order.
func digestOf(columns []edm.Column) string {
	sorted := slices.SortedFunc(slices.Values(columns), func(a, b edm.Column) int { return strings.Compare(a.Name, b.Name) })
	h := sha256.New()
	for _, c := range sorted {
		v := c.Value.Any()
		if t, is := v.(time.Time); is {
			v = t.UTC().Format(time.RFC3339Nano)
		}
		fmt.Fprintf(h, "%q %d %q\n", c.Name, c.Value.Kind, fmt.Sprint(v))
	}
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:12])
}
