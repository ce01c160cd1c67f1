package mcp_test

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/png"
	"strings"
	"testing"
)

const oneTool = `[{"name":"get","inputSchema":{"type":"object"}}]`

// A result of which the model would not learn a part is a wrong answer.
func TestEachPartOfAResultReachesTheModel(t *testing.T) {
	t.Parallel()
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewGray(image.Rect(0, 0, 2, 2))); err != nil {
		t.Fatal(err)
	}
	b64 := base64.StdEncoding.EncodeToString
	pixels := b64(picture.Bytes())
	svg := `<svg xmlns='http://www.w3.org/2000/svg'/>`
	for name, test := range map[string]struct{ content, want string }{
		"text of a resource":         {`{"type":"resource","resource":{"uri":"file:///a b.txt","mimeType":"text/plain","text":"hunter2-hunter2 is here"}}`, "[resource file:///a b.txt, text/plain]\n<secret-hidden> is here"},
		"a resource without a type":  {`{"type":"resource","resource":{"uri":"memo://1","text":"x"}}`, "[resource memo://1]\nx"},
		"an empty resource":          {`{"type":"resource","resource":{"uri":"memo://1","text":""}}`, "[resource memo://1]\n"},
		"a resource without a name":  {`{"type":"resource","resource":{"text":"x"}}`, "[resource without a name]\nx"},
		"a resource without itself":  {`{"type":"resource"}`, "[A resource of the result is left out: it has no contents. Only texts and pictures can be shown.]"},
		"a picture as blob":          {`{"type":"resource","resource":{"uri":"shot://1","mimeType":"image/png","blob":"` + pixels + `"}}`, "[resource shot://1, image/png]|data:image/png;base64," + pixels},
		"a picture of a wrong type":  {`{"type":"resource","resource":{"uri":"shot://1","mimeType":"application/pdf","blob":"` + pixels + `"}}`, "[resource shot://1, application/pdf]|data:image/png;base64," + pixels},
		"a picture":                  {`{"type":"image","mimeType":"image/jpg","data":"` + pixels + `"}`, "data:image/png;base64," + pixels},
		"SVG":                        {`{"type":"image","mimeType":"image/svg+xml","data":"` + b64([]byte(svg)) + `"}`, "[resource image/svg+xml]\n" + svg},
		"a PDF":                      {`{"type":"resource","resource":{"uri":"file:///r.pdf","mimeType":"application/pdf","blob":"` + b64([]byte("%PDF-1.7\n\xe2\xe3")) + `"}}`, "[A resource of the result is left out: file:///r.pdf, application/pdf, 11 bytes. Only texts and pictures can be shown.]"},
		"JSON as blob":               {`{"type":"resource","resource":{"uri":"x://j","mimeType":"application/vnd.api+json; charset=utf-8","blob":"` + b64([]byte(`{"a":"hunter2-hunter2"}`)) + `"}}`, "[resource x://j, application/vnd.api+json; charset=utf-8]\n" + `{"a":"<secret-hidden>"}`},
		"text as blob":               {`{"type":"resource","resource":{"uri":"x://t","blob":"` + b64([]byte("zażółć")) + `"}}`, "[resource x://t]\nzażółć"},
		"bytes without a type":       {`{"type":"resource","resource":{"uri":"x://b","blob":"` + b64([]byte{1, 0, 2}) + `"}}`, "[A resource of the result is left out: x://b, 3 bytes. Only texts and pictures can be shown.]"},
		"an empty blob":              {`{"type":"resource","resource":{"uri":"x://b","blob":""}}`, "[A resource of the result is left out: x://b, 0 bytes. Only texts and pictures can be shown.]"},
		"audio":                      {`{"type":"audio","mimeType":"audio/mpeg","data":"` + b64([]byte{0xff, 0xfb, 0}) + `"}`, "[Audio of the result is left out: audio/mpeg, 3 bytes. Only texts and pictures can be shown.]"},
		"a link":                     {`{"type":"resource_link","name":"main.rs","title":"Main","uri":"file:///src/main.rs","mimeType":"text/x-rust","size":1,"description":"The\nentry [point]."}`, "[link to a resource: main.rs, Main, file:///src/main.rs, text/x-rust, 1 byte, The entry [point].]"},
		"a link with a name only":    {`{"type":"resource_link","name":"k=hunter2-hunter2","uri":""}`, "[link to a resource: k=<secret-hidden>]"},
		"a link that is very long":   {`{"type":"resource_link","name":"n","uri":"data:,` + strings.Repeat("é", 5000) + `"}`, "[link to a resource: n, data:," + strings.Repeat("é", 1994) + "…]"},
		"several parts, their order": {`{"type":"resource","resource":{"uri":"a:1","text":"1"}},{"type":"text","text":"2"},{"type":"resource_link","name":"3","uri":"c:3"}`, "[resource a:1]\n1|2|[link to a resource: 3, c:3]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, result := range []string{`{"content":[` + test.content + `]}`, `{"isError":true,"content":[` + test.content + `]}`} {
				c := connect(t, config(`{"srv":`+raw{Tools: oneTool, Result: result}.settings(t)+`}`))
				got, isError := call(t, c, "get", `{}`)
				if want := "[result of get]|" + test.want; got != want || isError != strings.Contains(result, "isError") {
					t.Errorf("result = %.300q, want %.300q", got, want)
				}
			}
		})
	}
}
