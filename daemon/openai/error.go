package openai

// The types an [Error] can have.
const (
	TypeInvalidRequest = "invalid_request_error"
	TypeRateLimit      = "rate_limit_error"
	TypeServer         = "server_error"
)

// Error is the object inside the envelope of every failure. Empty Param and
// Code are null on the wire; all four keys are always there.
type Error struct {
	Message string
	Type    string
	Param   string
	Code    string
}

// AppendEnvelope appends {"error":{…}} in one line. The key "error" comes
// first and nothing else is in the object: clients look for exactly that.
func (e Error) AppendEnvelope(dst []byte) []byte {
	return append(e.append(append(dst, `{"error":`...)), '}')
}

func (e Error) append(dst []byte) []byte {
	dst = append(dst, `{"message":`...)
	dst = appendString(dst, e.Message)
	dst = append(dst, `,"type":`...)
	dst = appendString(dst, e.Type)
	dst = append(dst, `,"param":`...)
	dst = appendNullable(dst, e.Param)
	dst = append(dst, `,"code":`...)
	dst = appendNullable(dst, e.Code)
	return append(dst, '}')
}

func appendNullable(dst []byte, s string) []byte {
	if s == "" {
		return append(dst, "null"...)
	}
	return appendString(dst, s)
}

// The codes of a request that cannot be read.
const (
	CodeInvalidJSON            = "invalid_json"
	CodeInvalidType            = "invalid_type"
	CodeMissingParameter       = "missing_required_parameter"
	CodeEmptyArray             = "empty_array"
	CodeInvalidValue           = "invalid_value"
	CodeUnsupportedValue       = "unsupported_value"
	CodeUnsupportedParameter   = "unsupported_parameter"
	CodeUnsupportedContentType = "unsupported_content_type"
	CodeIntegerBelowMinimum    = "integer_below_min_value"
	CodeArrayTooLong           = "array_above_max_length"
	CodeStringTooLong          = "string_above_max_length"
	CodeInvalidImageURL        = "invalid_image_url"
	CodeInvalidBase64Image     = "invalid_base64_image"
)

// RequestError says what is wrong with a request. The status is always 400.
type RequestError struct {
	Code    string
	Param   string // path of the field, e.g. "messages[2].content[0].type"
	Message string // a sentence for the person in front of the client
}

// Error is the sentence.
func (e *RequestError) Error() string { return e.Message }
