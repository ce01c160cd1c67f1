package file

import "github.com/ohgw/ohgw/internal/namelock"

// editing are the files that calls change now, in all conversations of the process:
// sub-agents and conversations that share a workspace edit the same files, and each
// edit is of what was read. Programs take no part in it, so a file is compared
// with what was read before it is replaced, too.
var editing namelock.Locks
