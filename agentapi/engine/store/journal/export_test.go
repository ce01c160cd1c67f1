package journal

// Checkpoint does what the journal does after [Every].
func (j *Journal) Checkpoint() error { return j.checkpoint() }

// Joined reports whether records wait for the next write.
func (j *Journal) Joined() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.next == nil {
		return 0
	}
	return len(j.next.records)
}
