package iostream

import "golang.org/x/sys/windows"

// prepare readies a console for styles and reports whether it is one: an old
// console shows escape sequences as they are until it is told otherwise. One
// that cannot be told is treated as no terminal, so it never gets any.
func prepare(fd int) bool {
	handle := windows.Handle(fd)
	var mode uint32
	if err := windows.GetConsoleMode(handle, &mode); err != nil {
		return false
	}
	return windows.SetConsoleMode(handle, mode|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING) == nil
}
