package yamlspec

import "slices"

// Over is v laid over base: the mapping base with v's values, key by key and all the way down. Anything else than a
// mapping replaces what it is laid over; an absent v changes nothing. Each value keeps the place that it comes from.
// Neither v nor base changes.
func (v *Value) Over(base *Value) *Value {
	switch {
	case v == nil || v.kind == null:
		return base
	case base == nil || v.kind != mapping || base.kind != mapping:
		return v
	}
	changed := *base
	changed.fields = slices.Clone(base.fields)
	for _, f := range v.fields {
		at := slices.IndexFunc(changed.fields, func(old field) bool { return old.key.text == f.key.text })
		if at < 0 {
			changed.fields = append(changed.fields, f)
			continue
		}
		changed.fields[at] = field{key: f.key, value: f.value.Over(changed.fields[at].value)}
	}
	return &changed
}
