package serve

import _ "github.com/ohgw/ohgw/internal/sandbox/helperinit" // the test binary is a part of sandboxes
