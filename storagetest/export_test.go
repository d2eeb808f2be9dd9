package storagetest

import "time"

// TryFilter parses a filter and, if it is one, holds rows against it, by itself and by the bounds that it gives to keys.
func TryFilter(text string) {
	e, f := parseFilter(text)
	if f != nil {
		return
	}
	for _, key := range []string{"", "a", "p", "~", "é", "\U0001F600"} {
		row := &entity{pk: key, rk: key, stamp: time.Unix(0, 0), props: []Property{{"S", String, key}, {"I", Int32, int32(5)}, {"D", Double, 5.0}, {"B", Boolean, true}}}
		if e.holds(row) && (!e.keys("PartitionKey").contains(key) || !e.keys("RowKey").contains(key)) {
			panic("a row for which the filter holds is outside of its bounds: " + text)
		}
	}
}
