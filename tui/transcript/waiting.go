package transcript

// Waiting are the actions of the answer that wait for a confirmation.
func (a *Answer) Waiting() []Action {
	var found []Action
	for _, p := range a.parts {
		for _, s := range p.work {
			if s.State == Waiting && !s.bare {
				found = append(found, s.Action)
			}
		}
	}
	return found
}
