package event

import "strings"

// A notice is what the agent and the person are told about the agent's
// surroundings. It stands in the extended content of the user's message.
const (
	noticeOpen  = "<NOTICE>\n"
	noticeClose = "\n</NOTICE>"
)

// Notice is the content of a notice.
func Notice(text string) Content { return Text(noticeOpen + text + noticeClose) }

// NoticeOf is the text of content that is a notice.
func NoticeOf(c Content) (text string, ok bool) {
	text, opened := strings.CutPrefix(c.Text, noticeOpen)
	text, closed := strings.CutSuffix(text, noticeClose)
	return text, c.Type == TypeText && opened && closed
}
