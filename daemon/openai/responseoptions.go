package openai

import "fmt"

// checkResponseOptions refuses the options of a Responses request that promise
// something which an agent cannot give.
func checkResponseOptions(fields map[string][]byte) error {
	for _, check := range [...]struct {
		name string
		rule func(v []byte, name string) error
	}{
		{"tools", isArray},
		{"include", isArray},
		{"reasoning", isObject},
		{"prompt", checkPrompt},
		{"temperature", isNumber},
		{"top_p", isNumber},
		{"max_tool_calls", isNumber},
		{"top_logprobs", isNumber},
		{"max_output_tokens", checkMaxOutput},
	} {
		if v, ok := fields[check.name]; ok {
			if err := check.rule(v, check.name); err != nil {
				return err
			}
		}
	}
	return nil
}

func isObject(v []byte, name string) error {
	if kindOf(v) != "object" {
		return invalidType(name, "object", v)
	}
	return nil
}

func isNumber(v []byte, name string) error {
	_, err := number(v, name)
	return err
}

func checkPrompt(_ []byte, name string) error {
	return unsupportedParameter(name, "an agent has no stored prompts. Send the text as instructions.")
}

func checkMaxOutput(v []byte, name string) error {
	n, err := number(v, name)
	if err != nil {
		return err
	}
	if n < minOutput {
		return &RequestError{Code: CodeIntegerBelowMinimum, Param: name, Message: fmt.Sprintf("Invalid value for '%s': expected a number of at least %d.", name, minOutput)}
	}
	return nil
}
