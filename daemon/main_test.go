package daemon_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if config := os.Getenv(childVariable); config != "" {
		panic(child(config)) // it ends when it is killed
	}
	goleak.VerifyTestMain(m)
}
