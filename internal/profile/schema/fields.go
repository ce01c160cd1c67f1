package schema

type field struct{}

func (e *editor) fit([]field)     {}
func settingsFields() []field     { return nil }
func agentProfileFields() []field { return nil }
func llmFields([]string) []field  { return nil }
