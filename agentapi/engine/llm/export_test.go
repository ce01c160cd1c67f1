package llm

// BodyOf is the body of the request that a model makes.
func BodyOf(m Model, req Request) ([]byte, error) {
	own := m.(*model)
	return own.dialect.Body(own.prepare(req))
}
