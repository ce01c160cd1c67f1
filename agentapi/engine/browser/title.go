package browser

import (
	"context"
	"time"

	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/oneline"
)

// titleLimit is how long an action that is done waits for the title of the page.
const titleLimit = 2 * time.Second

// titled adds the title of the page to the result of an action that may have led to another
// page, for the model and for those who watch. A page without a title, or one that does not
// answer, adds nothing.
func (t *tab) titled(ctx context.Context, text string) string {
	ctx, cancel := context.WithTimeout(ctx, titleLimit)
	defer cancel()
	var title string
	if err := t.eval(ctx, "limit => document.title.slice(0, limit)", &title, maxTitle); err != nil {
		return text
	}
	if title = oneline.Of(title); title == "" {
		return text
	}
	return text + "\n" + event.PageTitle + title
}
