//go:build !linux

package inside

func run([]string) int { return refusedCode }
