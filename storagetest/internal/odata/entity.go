package odata

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// Entity is the body of a write. Properties without a value (null) are left out.
type Entity struct {
	PartitionKey, RowKey *string // nil: not in the body
	Properties           []Property
}

// ParseEntity reads the body of a write.
func ParseEntity(body []byte) (e Entity, f *Failure) {
	members, ok := ParseObject(body)
	if !ok {
		return e, InvalidInput
	}
	if repeats(members) {
		return e, InvalidInput
	}
	var annotated map[string]Type
	for _, m := range members {
		name, isType := strings.CutSuffix(m.Name, "@odata.type")
		if !isType || name == "" {
			continue
		}
		text, ok := m.Value.(string)
		if !ok {
			return e, InvalidInput
		}
		if annotated == nil {
			annotated = map[string]Type{}
		}
		annotated[name] = Type(text)
	}
	for _, m := range members {
		switch {
		case strings.HasPrefix(m.Name, "odata."), m.Name == "Timestamp":
			delete(annotated, m.Name)
			continue // the service sets these itself
		case strings.Contains(m.Name, "@"):
			continue
		}
		t, isAnnotated := annotated[m.Name]
		delete(annotated, m.Name)
		if m.Name == "PartitionKey" || m.Name == "RowKey" {
			s, ok := m.Value.(string)
			if !ok || isAnnotated && t != String {
				return e, InvalidInput
			}
			if m.Name == "RowKey" {
				e.RowKey = &s
			} else {
				e.PartitionKey = &s
			}
			continue
		}
		p, f := parseProperty(m, t, isAnnotated)
		if f != nil {
			return e, f
		}
		if p.Value != nil {
			if e.Properties == nil {
				e.Properties = make([]Property, 0, len(members))
			}
			e.Properties = append(e.Properties, p)
		}
	}
	for name := range annotated {
		if name != "Timestamp" {
			return e, InvalidInput // a type without its value
		}
	}
	return e, nil
}

// repeats reports whether two members have the same name.
func repeats(members []Member) bool {
	if len(members) > 20 {
		seen := make(map[string]bool, len(members))
		for _, m := range members {
			seen[m.Name] = true
		}
		return len(seen) < len(members)
	}
	for i, m := range members {
		if slices.ContainsFunc(members[:i], func(other Member) bool { return other.Name == m.Name }) {
			return true
		}
	}
	return false
}

// parseProperty types a value by its annotation, or else by its JSON type.
func parseProperty(m Member, t Type, annotated bool) (Property, *Failure) {
	p := Property{Name: m.Name, Type: t}
	if m.Value == nil {
		return p, nil
	}
	ok, inRange := true, true
	switch v := m.Value.(type) {
	case bool:
		ok = !annotated || t == Boolean
		p.Type, p.Value = Boolean, v
	case string:
		if !annotated {
			p.Type = String
		}
		p.Value, ok, inRange = parseValue(p.Type, v)
	case json.Number:
		n, err := strconv.ParseInt(v.String(), 10, 32)
		switch {
		case !annotated && err == nil:
			p.Type, p.Value = Int32, int32(n)
		case !annotated:
			p.Type = Double
			p.Value, ok = parseDouble(v.String())
		case t == Double:
			p.Value, ok = parseDouble(v.String())
		case t == Int32 && err == nil:
			p.Value = int32(n)
		case t == Int64 && err == nil:
			p.Value = n
		default: // the service reads a larger Int64 as a double, which may lose digits
			ok = false
		}
	}
	switch {
	case !ok && p.Type == Int64:
		return p, ProcessingError
	case !ok:
		return p, InvalidInput
	case !inRange:
		return p, OutOfRange
	}
	return p, nil
}
