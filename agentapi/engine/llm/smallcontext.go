package llm

// SmallContext is the size of a context, in tokens, below which an agent is told the
// least that it needs: its full prompt and tools have about 4,000.
const SmallContext = 16_000

// Small reports whether the server gives the model a small context.
func (i Info) Small() bool { return i.Served && i.ContextWindow < SmallContext }
