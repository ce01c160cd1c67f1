package daemon

// connLimit is how many connections there may be.
func connLimit() int { return mostConns }
