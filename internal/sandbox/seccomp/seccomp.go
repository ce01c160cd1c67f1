// Package seccomp has the filter of system calls for the agent's programs.
//
// The filter is a list of what is refused: what would open a way round the
// namespaces, or reaches parts of the kernel that no build or test needs. ptrace
// and Unix sockets are allowed on purpose, for debuggers and for the servers of
// test suites; the namespaces and Landlock keep them inside. The package makes the
// program; the caller installs it.
package seccomp

// Supported says that there is a filter for this system.
const Supported = supported
