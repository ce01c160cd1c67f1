package conversation

// Condenser says when a history is too long, and which model shortens it.
type Condenser struct {
	MaxSize   int   // events of the view
	KeepFirst int   // events at the beginning that stay
	MaxTokens int64 // of the model's last request; 0: only the model's own limit
	Model     Choice
}

func (c *Conversation) condense() (bool, error) { return false, nil }
