package wire

import "net/url"

// Attachment is the header Content-Disposition that gives a download its name. Only a
// name that needs it has the newer form, which old clients do not know.
func Attachment(name string) string {
	if quoted := url.PathEscape(name); quoted != name {
		return "attachment; filename*=utf-8''" + quoted
	}
	return `attachment; filename="` + name + `"`
}
