package acp

import _ "github.com/ohgw/ohgw/internal/sandbox/early" // the test binary is a part of sandboxes
