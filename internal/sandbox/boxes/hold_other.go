//go:build !unix

package boxes

// holdHome holds nothing: there are no boxes on this system.
func holdHome(string, bool) (release func(), err error) { return func() {}, nil }
