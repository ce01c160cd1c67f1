package agents

// processLives cannot tell: leases end by their time.
func processLives(int) bool { return true }
