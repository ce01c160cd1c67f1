// Package optional converts between values and the pointers that stand for them in JSON,
// where null is a value that is not there. Null and the zero value are the same to [Of] and [Value].
package optional

// Of is a pointer to v, or nil if v is the zero value.
func Of[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

// Value is what p points to, or the zero value if p is nil.
func Value[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// Or is what p points to, or otherwise if p is nil.
func Or[T any](p *T, otherwise T) T {
	if p == nil {
		return otherwise
	}
	return *p
}
