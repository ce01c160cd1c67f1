package agentserver

import (
	"testing"

	"github.com/ohgw/ohgw/internal/testkit/agentservertest"
)

// TestMessagesNameTheVersionsOfTheTests: what a refusal names was tested.
func TestMessagesNameTheVersionsOfTheTests(t *testing.T) {
	t.Parallel()
	if newestTested != agentservertest.Newest || oldestTested != agentservertest.CLI {
		t.Errorf("messages say %s to %s, tests run %s to %s", oldestTested, newestTested, agentservertest.CLI, agentservertest.Newest)
	}
}
