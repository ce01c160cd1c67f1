package openai

// checkOptions refuses the options that promise something which an agent
// cannot give. All others are accepted, whatever their value.
func checkOptions(fields map[string][]byte) error {
	for _, check := range [...]struct {
		name string
		rule func(v []byte, name string) error
	}{
		{"n", checkN},
		{"tools", isArray},
		{"functions", isArray},
		{"function_call", checkFunctionCall},
		{"modalities", checkModalities},
		{"audio", checkAudio},
		{"logprobs", checkLogprobs},
		{"top_logprobs", checkTopLogprobs},
		{"max_tokens", checkMaxTokens},
		{"max_completion_tokens", checkMaxTokens},
	} {
		if v, ok := fields[check.name]; ok {
			if err := check.rule(v, check.name); err != nil {
				return err
			}
		}
	}
	return nil
}

func unsupportedValue(path, why string) error {
	return &RequestError{Code: CodeUnsupportedValue, Param: path, Message: "Unsupported value: '" + path + "' " + why}
}

func unsupportedParameter(path, why string) error {
	return &RequestError{Code: CodeUnsupportedParameter, Param: path, Message: "Unsupported parameter: '" + path + "'; " + why}
}

func checkN(v []byte, name string) error {
	n, err := number(v, name)
	if err != nil {
		return err
	}
	if n != 1 {
		return unsupportedValue(name, "must be 1; this model runs one agent per request.")
	}
	return nil
}

func isArray(v []byte, name string) error {
	if kindOf(v) != "array" {
		return invalidType(name, "array", v)
	}
	return nil
}

// checkFunctionCall accepts what leaves the choice to the model. A function is
// forced with tool_choice, which took the place of this field.
func checkFunctionCall(v []byte, name string) error {
	switch kindOf(v) {
	case "string":
		if s := decodeString(v); s != "none" && s != "auto" {
			return invalidValue(name, "%s is not a valid choice; send none or auto.", brief(s))
		}
		return nil
	case "object":
		return unsupportedValue(name, "must be none or auto. To force a function, send it in tools, and its name in tool_choice.")
	default:
		return invalidType(name, "string or object", v)
	}
}

func checkModalities(v []byte, name string) error {
	if kindOf(v) != "array" {
		return invalidType(name, "array", v)
	}
	return elements(v, func(_ int, e []byte) error {
		if string(e) == `"audio"` {
			return unsupportedValue(name, `must be ["text"]; this model has no audio output.`)
		}
		return nil
	})
}

func checkAudio(_ []byte, name string) error {
	return unsupportedParameter(name, "this model answers only with text.")
}

func checkLogprobs(v []byte, name string) error {
	on, err := boolean(v, name)
	if err != nil {
		return err
	}
	if on {
		return unsupportedParameter(name, "an agent's answer has no token probabilities.")
	}
	return nil
}

func checkTopLogprobs(v []byte, name string) error {
	n, err := number(v, name)
	if err != nil {
		return err
	}
	if n > 0 {
		return unsupportedParameter(name, "an agent's answer has no token probabilities.")
	}
	return nil
}

func checkMaxTokens(v []byte, name string) error {
	n, err := number(v, name)
	if err != nil {
		return err
	}
	if n < 0 {
		return &RequestError{Code: CodeIntegerBelowMinimum, Param: name, Message: "Invalid value for '" + name + "': expected a number of at least 0."}
	}
	return nil
}
