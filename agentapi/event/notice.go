package event

import (
	"slices"
	"strings"
)

// unfinishedText marks an answer whose run ended while the model wrote it.
const unfinishedText = "This answer is not complete: the run ended while it was written."

// Unfinished is the extended content of an answer that is not complete. OpenHands keeps
// nothing of it, and has no mark of its own.
func Unfinished() []Content { return []Content{Notice(unfinishedText)} }

// IsUnfinished reports whether a message is an answer that is not complete.
func (m *Message) IsUnfinished() bool {
	return m.LLMMessage.Role == "assistant" && m.isTold(unfinishedText)
}

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

// cutText marks an answer that is not whole. OpenHands' log has no field for that,
// and keeps what it finds in the extended content of a message.
const cutText = "This answer was cut off at the length limit of the model."

// CutMark is the extended content of an answer of the agent that was cut off.
func CutMark() []Content { return []Content{Notice(cutText)} }

// IsCut reports whether an answer of the agent was cut off.
func (m *Message) IsCut() bool { return m.isTold(cutText) }

// isTold reports whether a message has a notice.
func (m *Message) isTold(notice string) bool {
	return slices.ContainsFunc(m.ExtendedContent, func(c Content) bool {
		text, ok := NoticeOf(c)
		return ok && text == notice
	})
}
