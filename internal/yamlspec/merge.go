package yamlspec

import "slices"

// Over returns the mapping base with v's values merged into it, recursively. A value that is not a mapping replaces
// the one in base; an absent v changes nothing. Each value keeps its position. Neither v nor base changes.
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
