package openai_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ohgw/ohgw/daemon/openai"
)

var limits = openai.Limits{Messages: 200, Text: 1 << 20, Images: 16}

const pixel = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

// body is a request with these messages and more fields.
func body(messages string, more ...string) string {
	return `{"model":"m","messages":` + messages + strings.Join(append([]string{""}, more...), ",") + `}`
}

func user(content string) string { return `[{"role":"user","content":` + content + `}]` }

func TestParseChatReadsWhatClientsSend(t *testing.T) {
	t.Parallel()
	plain := openai.ChatRequest{Model: "m", Text: "hi"}
	for name, tc := range map[string]struct {
		in   string
		want openai.ChatRequest
	}{
		"string":                        {body(user(`"hi"`)), plain},
		"parts":                         {body(user(`[{"type":"text","text":"hi"}]`)), plain},
		"responses' names":              {body(user(`[{"type":"input_text","text":"hi"},{"type":"input_image","image_url":"` + pixel + `"}]`)), openai.ChatRequest{Model: "m", Text: "hi", Images: []string{pixel}}},
		"several parts":                 {body(user(`[{"type":"text","text":"a"},{"type":"text","text":"b"}]`)), openai.ChatRequest{Model: "m", Text: "a\nb"}},
		"image object":                  {body(user(`[{"type":"text","text":"hi"},{"type":"image_url","image_url":{"url":"` + pixel + `","detail":"low"}}]`)), openai.ChatRequest{Model: "m", Text: "hi", Images: []string{pixel}}},
		"image string":                  {body(user(`[{"type":"image_url","image_url":"` + pixel + `"}]`)), openai.ChatRequest{Model: "m", Images: []string{pixel}}},
		"spaces":                        {" \r\n\t{ \"model\" : \"m\" , \"messages\" : [ { \"role\" : \"user\" , \"content\" : \"hi\" } ] } \n", plain},
		"escapes":                       {body(user(`"a\"\\\n\u00e9\ud83d\ude00"`)), openai.ChatRequest{Model: "m", Text: "a\"\\\né😀"}},
		"invalid UTF-8":                 {body(user("\"a\xffb\"")), openai.ChatRequest{Model: "m", Text: "a\uFFFDb"}},
		"invalid UTF-8 and escapes":     {body(user("\"a\xff\\n\"")), openai.ChatRequest{Model: "m", Text: "a\uFFFD\n"}},
		"duplicate keys":                {`{"model":"x","model":"m","messages":[],"messages":` + user(`"hi"`) + `}`, plain},
		"stream":                        {body(user(`"hi"`), `"stream":true,"stream_options":{"include_usage":true,"include_obfuscation":false}`), openai.ChatRequest{Model: "m", Text: "hi", Stream: true, IncludeUsage: true}},
		"stream_options without stream": {body(user(`"hi"`), `"stream_options":{"include_usage":true}`), openai.ChatRequest{Model: "m", Text: "hi", IncludeUsage: true}},
		"system and developer": {
			body(`[{"role":"system","content":"a"},{"role":"developer","content":[{"type":"text","text":"b"}]},{"role":"user","content":"hi"},{"role":"system","content":" "},{"role":"system","content":null}]`),
			openai.ChatRequest{Model: "m", Text: "hi", System: "a\n\nb"},
		},
		"history": {
			body(`[{"role":"user","content":"one"},{"role":"assistant","content":[{"type":"text","text":"two"},{"type":"refusal","refusal":"no"}],"refusal":null},{"role":"user","content":"hi"}]`),
			openai.ChatRequest{Model: "m", Text: "hi", History: []openai.Turn{{"user", "one"}, {"assistant", "two\nno"}}},
		},
		"tools in the history": {
			body(`[{"role":"user","content":"one"},{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}}],"reasoning_content":"x"},` +
				`{"role":"tool","tool_call_id":"1","content":[{"type":"what"}]},{"role":"function","name":"f","content":null},{"role":"user","content":"hi"}]`),
			openai.ChatRequest{Model: "m", Text: "hi", History: []openai.Turn{{"user", "one"}}},
		},
		"what was refused before is past": {
			body(`[{"role":"user","content":""},{"role":"user","content":"a\u0000b\ud800c"},{"role":"user","content":[{"type":"file","file":{}},{"type":"input_audio"},{"type":"image_url","image_url":"file:///x"},{"type":"video"},{"type":"text"}]},` +
				`{"role":"assistant","content":[{"type":"thinking","thinking":"x"},{"type":"text","text":"y"}]},{"role":"user","content":"hi"}]`),
			openai.ChatRequest{Model: "m", Text: "hi", History: []openai.Turn{{"user", "a\uFFFDb\uFFFDc"}, {"user", "[file]\n[audio]\n[image]"}, {"assistant", "y"}}},
		},
		"empty assistant last": {body(`[{"role":"user","content":"hi"},{"role":"assistant","content":""}]`), plain},
		"prefill":              {body(`[{"role":"user","content":"hi"},{"role":"assistant","content":"Well,"}]`), plain},
		"two users in a row":   {body(`[{"role":"user","content":"lost"},{"role":"user","content":"hi"}]`), openai.ChatRequest{Model: "m", Text: "hi", History: []openai.Turn{{"user", "lost"}}}},
		"null everywhere": {
			body(`[{"role":"user","content":"hi","name":null}]`, nulls("stream stream_options n tools functions tool_choice function_call parallel_tool_calls response_format modalities audio logprobs top_logprobs prediction stop max_tokens max_completion_tokens temperature top_p presence_penalty frequency_penalty seed logit_bias reasoning_effort verbosity service_tier store metadata user")),
			plain,
		},
		"unknown fields": {
			body(`[{"role":"user","content":[{"type":"text","text":"hi","cache_control":{"type":"ephemeral"}}],"x":{"y":[1]}}]`, `"call":{"id":"1","error":null},"customer":[1,2,{"a":"]}"}],"phone number":1`),
			openai.ChatRequest{Model: "m", Text: "hi", Ignored: []string{"call", "customer"}},
		},
		"user as an object": {body(user(`"hi"`), `"user":{"id":1,"name":"x"},"metadata":{"a":1}`), plain},
		"options without effect": {
			body(user(`"hi"`), `"tools":[{"type":"function"}],"tool_choice":"auto","parallel_tool_calls":true,"temperature":99,"stop":["x"],"store":true,"max_tokens":12,"seed":"x","functions":[]`),
			openai.ChatRequest{Model: "m", Text: "hi", MaxTokens: 12, Ignored: []string{"max_tokens", "parallel_tool_calls", "seed", "stop", "store", "temperature", "tools"}},
		},
		"options that change nothing": {
			body(user(`"hi"`), `"n":1.0,"response_format":{"type":"text"},"modalities":["text"],"logprobs":false,"top_logprobs":0,"store":false,"tool_choice":"none","function_call":"auto","tools":[]`), plain,
		},
		"any object": {body(user(`"hi"`), `"response_format":{"type":"json_object"}`), openai.ChatRequest{Model: "m", Text: "hi", Format: &openai.Format{}}},
		"a schema": {
			body(user(`"hi"`), `"response_format":{"type":"json_schema","json_schema":{"name":"a","strict":null,"schema":{ "type":"object"}}}`),
			openai.ChatRequest{Model: "m", Text: "hi", Format: &openai.Format{Schema: []byte(`{ "type":"object"}`), Param: "response_format.json_schema.schema"}},
		},
		"a choice that leaves the choice": {body(user(`"hi"`), `"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[]}}`), plain},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := openai.ParseChat([]byte(tc.in), limits)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(&tc.want, got, cmpopts.IgnoreFields(openai.ChatRequest{}, "Digest", "Begun"), cmpopts.IgnoreUnexported(openai.ChatRequest{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func nulls(names string) string {
	return `"` + strings.Join(strings.Fields(names), `":null,"`) + `":null`
}

func TestParseChatNamesWhatIsWrong(t *testing.T) {
	t.Parallel()
	const hi = `"hi"`
	for name, tc := range map[string]struct {
		in, code, param string
	}{
		"empty body":            {"", openai.CodeInvalidJSON, ""},
		"broken":                {`{"model":`, openai.CodeInvalidJSON, ""},
		"trailing data":         {body(user(hi)) + "x", openai.CodeInvalidJSON, ""},
		"two values":            {body(user(hi)) + body(user(hi)), openai.CodeInvalidJSON, ""},
		"a null byte":           {body(user("\"a\x00\"")), openai.CodeInvalidJSON, ""},
		"depth bomb":            {strings.Repeat(`[`, 5<<20), openai.CodeInvalidJSON, ""},
		"depth bomb, closed":    {body(user(hi), `"x":`+strings.Repeat(`[`, 100_000)+strings.Repeat(`]`, 100_000)), openai.CodeInvalidJSON, ""},
		"depth bomb of objects": {strings.Repeat(`{"a":`, 1<<20), openai.CodeInvalidJSON, ""},
		"array":                 {`[]`, openai.CodeInvalidType, ""},
		"null":                  {`null`, openai.CodeInvalidType, ""},
		"no model":              {`{"messages":` + user(hi) + `}`, openai.CodeMissingParameter, "model"},
		"model null":            {`{"model":null,"messages":` + user(hi) + `}`, openai.CodeMissingParameter, "model"},
		"model number":          {`{"model":1,"messages":` + user(hi) + `}`, openai.CodeInvalidType, "model"},
		"model with NUL":        {`{"model":"a\u0000","messages":` + user(hi) + `}`, openai.CodeInvalidValue, "model"},
		"model too long":        {`{"model":"` + strings.Repeat("m", 300) + `","messages":` + user(hi) + `}`, openai.CodeStringTooLong, "model"},
		"no messages":           {`{"model":"m"}`, openai.CodeMissingParameter, "messages"},
		"messages null":         {body(`null`), openai.CodeMissingParameter, "messages"},
		"messages object":       {body(`{}`), openai.CodeInvalidType, "messages"},
		"messages string":       {body(hi), openai.CodeInvalidType, "messages"},
		"messages empty":        {body(`[]`), openai.CodeEmptyArray, "messages"},
		"no user message":       {body(`[{"role":"system","content":"x"},{"role":"assistant","content":"y"}]`), openai.CodeInvalidValue, "messages"},
		"201 messages":          {body("[" + strings.Repeat(`{"role":"user","content":"x"},`, 200) + `{"role":"user","content":"x"}]`), openai.CodeArrayTooLong, "messages"},
		"message string":        {body(`["hi"]`), openai.CodeInvalidType, "messages[0]"},
		"no role":               {body(`[{"content":"x"}]`), openai.CodeMissingParameter, "messages[0].role"},
		"role number":           {body(`[{"role":1}]`), openai.CodeInvalidType, "messages[0].role"},
		"role unknown":          {body(`[{"role":"user","content":"x"},{"role":"robot","content":"x"}]`), openai.CodeInvalidValue, "messages[1].role"},
		"content absent":        {body(`[{"role":"user"}]`), openai.CodeMissingParameter, "messages[0].content"},
		"content null":          {body(user(`null`)), openai.CodeMissingParameter, "messages[0].content"},
		"content number":        {body(user(`5`)), openai.CodeInvalidType, "messages[0].content"},
		"content object":        {body(user(`{"type":"text"}`)), openai.CodeInvalidType, "messages[0].content"},
		"content of a tool":     {body(`[{"role":"tool","content":{}},{"role":"user","content":"x"}]`), openai.CodeInvalidType, "messages[0].content"},
		"content empty":         {body(user(`""`)), openai.CodeInvalidValue, "messages[0].content"},
		"content blank":         {body(user(`" \n "`)), openai.CodeInvalidValue, "messages[0].content"},
		"content no parts":      {body(user(`[]`)), openai.CodeInvalidValue, "messages[0].content"},
		"content too long":      {body(user(`"` + strings.Repeat("x", 1<<20+1) + `"`)), openai.CodeStringTooLong, "messages[0].content"},
		"parts too long":        {body(user(`[{"type":"text","text":"` + strings.Repeat("x", 1<<19) + `"},{"type":"text","text":"` + strings.Repeat("x", 1<<19+1) + `"}]`)), openai.CodeStringTooLong, "messages[0].content"},
		"NUL":                   {body(user(`"a\u0000b"`)), openai.CodeInvalidValue, "messages[0].content"},
		"high surrogate":        {body(user(`"a\ud800b"`)), openai.CodeInvalidValue, "messages[0].content"},
		"low surrogate":         {body(user(`"\\\udc00"`)), openai.CodeInvalidValue, "messages[0].content"},
		"a letter for half":     {body(user(`"\ud83d\u0041"`)), openai.CodeInvalidValue, "messages[0].content"},
		"null is the last":      {`{"model":"m","model":null,"messages":` + user(hi) + `}`, openai.CodeMissingParameter, "model"},
		"two high surrogates":   {body(user(`"\ud83d\ud83d\ude00"`)), openai.CodeInvalidValue, "messages[0].content"},
		"NUL in a part":         {body(user(`[{"type":"text","text":"ok"},{"type":"text","text":"\n\u0000"}]`)), openai.CodeInvalidValue, "messages[0].content[1].text"},
		"NUL in the system":     {body(`[{"role":"system","content":"\u0000"},{"role":"user","content":"x"}]`), openai.CodeInvalidValue, "messages[0].content"},
		"part string":           {body(user(`["x"]`)), openai.CodeInvalidType, "messages[0].content[0]"},
		"part without type":     {body(user(`[{"text":"x"}]`)), openai.CodeMissingParameter, "messages[0].content[0].type"},
		"part type number":      {body(user(`[{"type":1}]`)), openai.CodeInvalidType, "messages[0].content[0].type"},
		"part unknown":          {body(user(`[{"type":"text","text":"x"},{"type":"video_url"}]`)), openai.CodeInvalidValue, "messages[0].content[1].type"},
		"part without text":     {body(user(`[{"type":"text"}]`)), openai.CodeMissingParameter, "messages[0].content[0].text"},
		"part text number":      {body(user(`[{"type":"text","text":1}]`)), openai.CodeInvalidType, "messages[0].content[0].text"},
		"refusal of a user":     {body(user(`[{"type":"refusal","refusal":"x"}]`)), openai.CodeInvalidValue, "messages[0].content[0].type"},
		"image in the system":   {body(`[{"role":"system","content":[{"type":"image_url","image_url":"` + pixel + `"}]},{"role":"user","content":"x"}]`), openai.CodeInvalidValue, "messages[0].content[0].type"},
		"audio":                 {body(user(`[{"type":"text","text":"x"},{"type":"input_audio","input_audio":{"data":"","format":"wav"}}]`)), openai.CodeUnsupportedContentType, "messages[0].content[1]"},
		"file":                  {body(`[{"role":"system","content":"x"},{"role":"user","content":[{"type":"file","file":{"file_id":"1"}}]}]`), openai.CodeUnsupportedContentType, "messages[1].content[0]"},
		"image without url":     {body(user(`[{"type":"image_url"}]`)), openai.CodeMissingParameter, "messages[0].content[0].image_url"},
		"image object without":  {body(user(`[{"type":"image_url","image_url":{}}]`)), openai.CodeMissingParameter, "messages[0].content[0].image_url.url"},
		"image number":          {body(user(`[{"type":"image_url","image_url":1}]`)), openai.CodeInvalidType, "messages[0].content[0].image_url"},
		"17 images":             {body(user(`[` + strings.Repeat(`{"type":"image_url","image_url":"`+pixel+`"},`, 16) + `{"type":"image_url","image_url":"` + pixel + `"}]`)), openai.CodeArrayTooLong, "messages[0].content"},
		"stream string":         {body(user(hi), `"stream":"true"`), openai.CodeInvalidType, "stream"},
		"stream_options":        {body(user(hi), `"stream_options":[]`), openai.CodeInvalidType, "stream_options"},
		"include_usage":         {body(user(hi), `"stream_options":{"include_usage":1}`), openai.CodeInvalidType, "stream_options.include_usage"},
		"n":                     {body(user(hi), `"n":2`), openai.CodeUnsupportedValue, "n"},
		"n zero":                {body(user(hi), `"n":0`), openai.CodeUnsupportedValue, "n"},
		"n huge":                {body(user(hi), `"n":1e999`), openai.CodeUnsupportedValue, "n"},
		"n string":              {body(user(hi), `"n":"1"`), openai.CodeInvalidType, "n"},
		"tools":                 {body(user(hi), `"tools":{}`), openai.CodeInvalidType, "tools"},
		"functions":             {body(user(hi), `"functions":"x"`), openai.CodeInvalidType, "functions"},
		"tool_choice required":  {body(user(hi), `"tool_choice":"required"`), openai.CodeUnsupportedValue, "tool_choice"},
		"tool_choice named":     {body(user(hi), `"tool_choice":{"type":"function","function":{"name":"f"}}`), openai.CodeUnsupportedValue, "tool_choice"},
		"tool_choice allowed":   {body(user(hi), `"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"required"}}`), openai.CodeUnsupportedValue, "tool_choice"},
		"tool_choice odd":       {body(user(hi), `"tool_choice":"maybe"`), openai.CodeInvalidValue, "tool_choice"},
		"tool_choice number":    {body(user(hi), `"tool_choice":1`), openai.CodeInvalidType, "tool_choice"},
		"function_call named":   {body(user(hi), `"function_call":{"name":"f"}`), openai.CodeUnsupportedValue, "function_call"},
		"json_schema":           {body(user(hi), `"response_format":{"type":"json_schema"}`), openai.CodeMissingParameter, "response_format.json_schema"},
		"json_schema string":    {body(user(hi), `"response_format":{"type":"json_schema","json_schema":"a"}`), openai.CodeInvalidType, "response_format.json_schema"},
		"json_schema no name":   {body(user(hi), `"response_format":{"type":"json_schema","json_schema":{}}`), openai.CodeMissingParameter, "response_format.json_schema.name"},
		"format odd":            {body(user(hi), `"response_format":{"type":"yaml"}`), openai.CodeInvalidValue, "response_format.type"},
		"format without type":   {body(user(hi), `"response_format":{}`), openai.CodeMissingParameter, "response_format.type"},
		"format type number":    {body(user(hi), `"response_format":{"type":1}`), openai.CodeInvalidType, "response_format.type"},
		"format string":         {body(user(hi), `"response_format":"text"`), openai.CodeInvalidType, "response_format"},
		"modalities":            {body(user(hi), `"modalities":["text","audio"]`), openai.CodeUnsupportedValue, "modalities"},
		"modalities string":     {body(user(hi), `"modalities":"text"`), openai.CodeInvalidType, "modalities"},
		"audio option":          {body(user(hi), `"audio":{"voice":"x"}`), openai.CodeUnsupportedParameter, "audio"},
		"logprobs":              {body(user(hi), `"logprobs":true`), openai.CodeUnsupportedParameter, "logprobs"},
		"logprobs number":       {body(user(hi), `"logprobs":1`), openai.CodeInvalidType, "logprobs"},
		"top_logprobs":          {body(user(hi), `"top_logprobs":5`), openai.CodeUnsupportedParameter, "top_logprobs"},
		"top_logprobs string":   {body(user(hi), `"top_logprobs":"5"`), openai.CodeInvalidType, "top_logprobs"},
		"max_tokens":            {body(user(hi), `"max_tokens":-1`), openai.CodeIntegerBelowMinimum, "max_tokens"},
		"max_tokens string":     {body(user(hi), `"max_completion_tokens":"5"`), openai.CodeInvalidType, "max_completion_tokens"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := openai.ParseChat([]byte(tc.in), limits)
			got, ok := errors.AsType[*openai.RequestError](err)
			if !ok {
				t.Fatalf("error %v, want a RequestError", err)
			}
			if got.Code != tc.code || got.Param != tc.param {
				t.Errorf("%s at %q (%s), want %s at %q", got.Code, got.Param, got.Message, tc.code, tc.param)
			}
			if got.Message == "" || len(got.Message) > 300 {
				t.Errorf("message %q", got.Message)
			}
		})
	}
}

func TestImagesAreDataURLsUnlessRemoteOnesAreAllowed(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		url    string
		remote bool
		code   string // empty: accepted
	}{
		{pixel, false, ""},
		{"data:image/jpeg;base64,/9j/4AAQ", false, openai.CodeInvalidImageURL},
		{"DATA:image/GIF;base64,R0lGODlhAQABAIAAAAAAAP///ywAAAAAAQABAAACAUwAOw==", false, ""},
		{"data:image/webp;charset=x;base64,UklGRhwAAABXRUJQVlA4TA8AAAAvAAAAAAcQ/Y/+ByKi/wEA", false, ""},
		{strings.ReplaceAll(pixel, "iVBORw0K", "iVBO\nRw0K\r\n"), false, ""},
		{"data:image/png;base64,", false, openai.CodeInvalidBase64Image},
		{"data:image/png;base64,%%%", false, openai.CodeInvalidBase64Image},
		{"data:image/png;base64,iVBORw0KGgo", false, openai.CodeInvalidBase64Image},
		{"data:image/png,abc", false, openai.CodeInvalidImageURL},
		{"data:image/svg+xml;base64,AAAA", false, openai.CodeInvalidImageURL},
		{"data:text/html;base64,AAAA", false, openai.CodeInvalidImageURL},
		{"data:image/png;base64", false, openai.CodeInvalidImageURL},
		{"", true, openai.CodeInvalidImageURL},
		{"/etc/passwd", true, openai.CodeInvalidImageURL},
		{"file:///etc/passwd", true, openai.CodeInvalidImageURL},
		{"ftp://example.com/x.png", true, openai.CodeInvalidImageURL},
		{"http://", true, openai.CodeInvalidImageURL},
		{"http://exa mple.com/", true, openai.CodeInvalidImageURL},
		{"https://example.com/x.png", false, openai.CodeInvalidImageURL},
		{"https://example.com/x.png", true, ""},
		{"http://93.184.216.34/x.png", true, ""},
		{"https://[2606:2800:220:1::1]/x.png", true, ""},
		{"https://user:pass@example.com/x.png", true, openai.CodeInvalidImageURL},
		{"http://localhost/x.png", true, openai.CodeInvalidImageURL},
		{"http://localhost./x.png", true, openai.CodeInvalidImageURL},
		{"http://a.localhost:80/x.png", true, openai.CodeInvalidImageURL},
		{"http://127.0.0.1/x.png", true, openai.CodeInvalidImageURL},
		{"http://127.1/x.png", true, openai.CodeInvalidImageURL},
		{"http://2130706433/x.png", true, openai.CodeInvalidImageURL},
		{"http://0x7f.1/x.png", true, openai.CodeInvalidImageURL},
		{"http://0177.0.0.1/x.png", true, openai.CodeInvalidImageURL},
		{"http://0x7f000001/x.png", true, openai.CodeInvalidImageURL},
		{"http://0.0.0.0/x.png", true, openai.CodeInvalidImageURL},
		{"http://10.1.2.3/x.png", true, openai.CodeInvalidImageURL},
		{"http://192.168.0.1/x.png", true, openai.CodeInvalidImageURL},
		{"http://172.16.0.1/x.png", true, openai.CodeInvalidImageURL},
		{"http://100.64.0.1/x.png", true, openai.CodeInvalidImageURL},
		{"http://169.254.169.254/latest/meta-data", true, openai.CodeInvalidImageURL},
		{"http://224.0.0.1/x.png", true, openai.CodeInvalidImageURL},
		{"http://255.255.255.255/x.png", true, openai.CodeInvalidImageURL},
		{"http://[::1]/x.png", true, openai.CodeInvalidImageURL},
		{"http://[::ffff:127.0.0.1]/x.png", true, openai.CodeInvalidImageURL},
		{"http://[::ffff:100.64.0.1]/x.png", true, openai.CodeInvalidImageURL},
		{"http://[2606:2800:220:1::1%25eth0]/x.png", true, openai.CodeInvalidImageURL},
		{"http://[::127.0.0.1]/x.png", true, openai.CodeInvalidImageURL},
		{"http://[64:ff9b::7f00:1]/x.png", true, openai.CodeInvalidImageURL},
		{"http://[2002:7f00:1::]/x.png", true, openai.CodeInvalidImageURL},
		{"http://[fe80::1%25eth0]/x.png", true, openai.CodeInvalidImageURL},
		{"http://[fd00::1]/x.png", true, openai.CodeInvalidImageURL},
		{"http://router/x.png", true, openai.CodeInvalidImageURL},
		{"http://nas.local/x.png", true, openai.CodeInvalidImageURL},
		{"http://metadata.google.internal/x.png", true, openai.CodeInvalidImageURL},
	} {
		quoted, err := json.Marshal(tc.url)
		if err != nil {
			t.Fatal(err)
		}
		l := limits
		l.RemoteImages = tc.remote
		_, err = openai.ParseChat([]byte(body(user(`[{"type":"image_url","image_url":{"url":`+string(quoted)+`}}]`))), l)
		got := ""
		if e, ok := errors.AsType[*openai.RequestError](err); ok {
			got = e.Code
			if e.Param != "messages[0].content[0].image_url.url" {
				t.Errorf("%s: param %q", tc.url, e.Param)
			}
		}
		if got != tc.code {
			t.Errorf("%s (remote %t): %q, want %q", tc.url, tc.remote, got, tc.code)
		}
	}
}

func TestZeroLimitsAreNone(t *testing.T) {
	t.Parallel()
	in := body("[" + strings.Repeat(`{"role":"user","content":"x"},`, 300) + `{"role":"user","content":"` + strings.Repeat("x", 2<<20) + `"}]`)
	if _, err := openai.ParseChat([]byte(in), openai.Limits{}); err != nil {
		t.Error(err)
	}
}

func TestDigestSeesContentNotForm(t *testing.T) {
	t.Parallel()
	base := body(user(`"h\u00e9"`), `"temperature":0.5,"x":{"a":1,"b":[1,2]}`)
	for name, tc := range map[string]struct {
		in   string
		same bool
	}{
		"itself":            {base, true},
		"order of keys":     {`{"x":{"b":[1,2],"a":1},"temperature":0.5,"messages":` + user(`"h\u00e9"`) + `,"model":"m"}`, true},
		"white space":       {strings.ReplaceAll(base, ":", " : "), true},
		"escapes":           {body(user(`"hé"`), `"temperature":0.5,"x":{"a":1,"b":[1,2]}`), true},
		"null":              {body(user(`"h\u00e9"`), `"temperature":0.5,"x":{"a":1,"b":[1,2]},"seed":null`), true},
		"stream":            {body(user(`"h\u00e9"`), `"temperature":0.5,"x":{"a":1,"b":[1,2]},"stream":true,"stream_options":{"include_usage":true}`), true},
		"metadata":          {body(user(`"h\u00e9"`), `"temperature":0.5,"x":{"a":1,"b":[1,2]},"metadata":{"at":1}`), true},
		"duplicate":         {body(user(`"h\u00e9"`), `"temperature":0.5,"x":{"a":0,"a":1,"b":[1,2]}`), true},
		"another text":      {body(user(`"h\u00e8"`), `"temperature":0.5,"x":{"a":1,"b":[1,2]}`), false},
		"another option":    {body(user(`"h\u00e9"`), `"temperature":0.6,"x":{"a":1,"b":[1,2]}`), false},
		"one field less":    {body(user(`"h\u00e9"`), `"x":{"a":1,"b":[1,2]}`), false},
		"another nesting":   {body(user(`"h\u00e9"`), `"temperature":0.5,"x":{"a":1,"b":[[1],2]}`), false},
		"string for number": {body(user(`"h\u00e9"`), `"temperature":0.5,"x":{"a":"1","b":[1,2]}`), false},
		"joined numbers":    {body(user(`"h\u00e9"`), `"temperature":0.5,"x":{"a":1,"b":[12]}`), false},
		"joined strings":    {body(user(`"h\u00e9"`), `"temperature":0.5,"x":{"a":1,"b":["1:","1"]}`), false},
	} {
		want, got := digestOf(t, base), digestOf(t, tc.in)
		if (want == got) != tc.same {
			t.Errorf("%s: same %t, want %t", name, want == got, tc.same)
		}
	}
}

func TestDigestsOfDifferentListsOfTextsDiffer(t *testing.T) {
	t.Parallel()
	seen := make(map[[32]byte]string)
	for _, list := range []string{`["a","b"]`, `["a\"1:b"]`, `["a\"0:b"]`, `["ab"]`, `["a",["b"]]`, `[["a"],"b"]`, `["a","b",""]`, `[{"a":"b"}]`, `{"a":"b"}`, `[1,2]`, `[12]`, `["1","2"]`, `[true]`, `["true"]`, `[]`, `{}`, `[null]`} {
		sum := digestOf(t, body(user(`"hi"`), `"x":`+list))
		if other, same := seen[sum]; same {
			t.Errorf("%s and %s", list, other)
		}
		seen[sum] = list
	}
}

func digestOf(t *testing.T, in string) [32]byte {
	t.Helper()
	r, err := openai.ParseChat([]byte(in), limits)
	if err != nil {
		t.Fatal(err)
	}
	return r.Digest
}

func TestIgnoredNamesFitIntoAHeader(t *testing.T) {
	t.Parallel()
	fields := []string{`"a b":1`, `"x\r\nSet-Cookie: a":1`, `"é":1`, `"":1`, `"` + strings.Repeat("a", 65) + `":1`}
	for i := range 40 {
		fields = append(fields, fmt.Sprintf(`"f%02d":1`, i))
	}
	r, err := openai.ParseChat([]byte(body(user(`"hi"`), fields...)), limits)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Ignored) != 32 || r.Ignored[0] != "f00" || r.Ignored[31] != "f31" {
		t.Errorf("ignored %q", r.Ignored)
	}
}

// nested is a body of about size bytes with a field that is nested depth deep,
// the body itself included.
func nested(depth, size int) []byte {
	levels := depth - 1
	inner := strings.Repeat("{\"a\":[", levels/2) + strings.Repeat("[", levels%2)
	outer := strings.Repeat("]", levels%2) + strings.Repeat("]}", levels/2)
	return []byte(body(user(`"hi"`), `"x":`+inner+strings.TrimSuffix(strings.Repeat(`"aa",`, size/5), ",")+outer))
}

func TestNestingIsBounded(t *testing.T) {
	t.Parallel()
	if _, err := openai.ParseChat(nested(64, 10), openai.Limits{}); err != nil {
		t.Errorf("64 levels: %v", err)
	}
	for _, depth := range []int{65, 1000, 9999} {
		_, err := openai.ParseChat(nested(depth, 10), openai.Limits{})
		if e, ok := errors.AsType[*openai.RequestError](err); !ok || e.Code != openai.CodeInvalidValue || !strings.Contains(e.Message, "64 levels") {
			t.Errorf("%d levels: %v", depth, err)
		}
	}
}

// Reading takes as long as the body is, however deep it is.
func TestReadingIsLinearInWhatIsNested(t *testing.T) {
	read := func(in []byte) time.Duration {
		began := time.Now()
		if _, err := openai.ParseChat(in, openai.Limits{}); err != nil {
			t.Fatal(err)
		}
		return time.Since(began)
	}
	flatBody, deepBody := nested(3, 256<<10), nested(64, 256<<10)
	flat, deep := time.Hour, time.Hour
	// The two are read in turn, and the fastest of each count. A busy machine
	// gets more rounds, because it interrupts some of them.
	for round := 0; round < 9 || round < 200 && deep > 4*flat; round++ {
		flat, deep = min(flat, read(flatBody)), min(deep, read(deepBody))
	}
	t.Logf("256 KiB: %v flat, %v with 64 levels", flat, deep)
	if deep > 4*flat {
		t.Errorf("64 levels take %v, 3 levels %v", deep, flat)
	}
}

func BenchmarkParseChatNested(b *testing.B) {
	in := nested(64, 1<<20)
	b.SetBytes(int64(len(in)))
	for b.Loop() {
		if _, err := openai.ParseChat(in, openai.Limits{}); err != nil {
			b.Fatal(err)
		}
	}
}

func FuzzParseChat(f *testing.F) {
	f.Add([]byte(body(user(`"hi"`), `"stream":true`)))
	f.Add([]byte(body(user(`[{"type":"text","text":"a\ud83d\ude00\n"},{"type":"image_url","image_url":{"url":"`+pixel+`"}}]`), `"n":1,"tools":[],"tool_choice":"auto"`)))
	f.Add([]byte(body(user(`"hi"`), `"tools":[{"type":"function","function":{"name":"f","parameters":{"required":[]}}}],"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"required","tools":[{"type":"function","function":{"name":"f"}}]}}`)))
	f.Add([]byte(`{"model":"m","messages":[{"role":"system","content":"\\\\\""},{"role":"user","content":"x"}],"x":[{},[],"",1e5,true,null,{"a":[1]}]}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		r, err := openai.ParseChat(in, limits)
		if err != nil {
			if _, ok := errors.AsType[*openai.RequestError](err); !ok {
				t.Fatalf("%T: %v", err, err)
			}
			return
		}
		// What was accepted must be what encoding/json reads.
		var want map[string]any
		if err := json.Unmarshal(in, &want); err != nil {
			t.Fatal(err)
		}
		if !utf8.Valid(in) {
			return // the number of replacement characters differs
		}
		if r.Model != want["model"] {
			t.Fatalf("model %q, want %q", r.Model, want["model"])
		}
		var last any
		for _, m := range want["messages"].([]any) {
			if m := m.(map[string]any); m["role"] == "user" {
				last = m["content"]
			}
		}
		if text, ok := last.(string); ok && r.Text != text {
			t.Fatalf("text %q, want %q", r.Text, text)
		}
	})
}

func BenchmarkParseChat1MiB(b *testing.B) {
	var turns []string
	text := strings.Repeat("All work and no play makes Jack a dull boy.\\n", 24<<10/45)
	for i := range 42 {
		turns = append(turns, fmt.Sprintf(`{"role":%q,"content":"%s"}`, []string{"user", "assistant"}[i%2], text))
	}
	in := []byte(body("["+strings.Join(turns, ",")+"]", `"stream":true,"temperature":0.2`))
	b.SetBytes(int64(len(in)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := openai.ParseChat(in, limits); err != nil {
			b.Fatal(err)
		}
	}
}

func TestTheBytesOfAnImageDecideItsType(t *testing.T) {
	t.Parallel()
	payload := strings.TrimPrefix(pixel, "data:image/png;base64,")
	for _, label := range []string{"image/jpg", "IMAGE/JPEG", "image/svg+xml", "image/heic;x=y", "application/octet-stream", ""} {
		r, err := openai.ParseChat([]byte(body(user(`[{"type":"image_url","image_url":{"url":"data:`+label+`;base64,`+payload+`"}}]`))), limits)
		if err != nil || len(r.Images) != 1 || r.Images[0] != pixel {
			t.Errorf("%s: request = %+v, %v", label, r, err)
		}
	}
	for name, data := range map[string]string{
		"BMP": "BM" + strings.Repeat("\x00", 60), "SVG": "<svg xmlns=''/>", "TIFF": "II*\x00........", "cut off": "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR",
	} {
		_, err := openai.ParseChat([]byte(body(user(`[{"type":"text","text":"x"},{"type":"image_url","image_url":{"url":"data:image/png;base64,`+base64.StdEncoding.EncodeToString([]byte(data))+`"}}]`))), limits)
		refused, ok := errors.AsType[*openai.RequestError](err)
		if !ok || refused.Code != openai.CodeInvalidImageURL || refused.Param != "messages[0].content[1].image_url.url" || !strings.Contains(refused.Message, "is "+name) {
			t.Errorf("%s: %+v", name, err)
		}
	}
}

func BenchmarkParseChatImage(b *testing.B) {
	large := append([]byte("\xff\xd8\xff\xc0\x00\x08\x08\x01\x00\x01\x00\x00\xff\xda"), make([]byte, 3<<20)...)
	large = append(large, 0xff, 0xd9)
	in := []byte(body(user(`[{"type":"text","text":"what is this?"},{"type":"image_url","image_url":{"url":"data:image/png;base64,` + base64.StdEncoding.EncodeToString(large) + `"}}]`)))
	b.SetBytes(int64(len(in)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := openai.ParseChat(in, limits); err != nil {
			b.Fatal(err)
		}
	}
}
