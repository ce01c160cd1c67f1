package schema

func serverMap(*editor) {}
