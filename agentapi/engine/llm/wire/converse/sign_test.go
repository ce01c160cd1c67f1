package converse_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/ohgw/ohgw/agentapi/engine/llm/wire/converse"
)

// exampleKeys are the credentials of AWS's published test suite.
func exampleKeys(region string) converse.Credentials {
	return converse.Credentials{AccessKeyID: "AKIDEXAMPLE", SecretAccessKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", Region: region}
}

func exampleTime() time.Time { return time.Date(2015, 8, 30, 12, 36, 0, 0, time.UTC) }

func request(t *testing.T, method, url string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// get-vanilla and post-vanilla of AWS's test suite for Signature Version 4.
func TestSignaturesOfTheTestSuite(t *testing.T) {
	t.Parallel()
	for method, want := range map[string]string{
		"GET":  "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31",
		"POST": "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b",
	} {
		r := request(t, method, "https://example.amazonaws.com/")
		converse.SignFor("service", r, nil, exampleKeys("us-east-1"), exampleTime())
		if got := r.Header.Get("Authorization"); got != "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, SignedHeaders=host;x-amz-date, Signature="+want {
			t.Errorf("%s: signature = %s", method, got)
		}
	}
}

// The signatures that AWS's own Go SDK, v1.43.6, makes of these requests.
func TestSignaturesOfBedrock(t *testing.T) {
	t.Parallel()
	const body = `{"messages":[]}`
	r := request(t, "POST", "https://bedrock-runtime.eu-central-1.amazonaws.com/model/us.anthropic.claude-sonnet-4-5-20250929-v1%3A0/converse-stream")
	r.Header.Set("Content-Type", "application/json")
	keys := exampleKeys("eu-central-1")
	keys.SessionToken = "token"
	converse.Sign(r, []byte(body), keys, exampleTime())
	if got := r.Header.Get("Authorization"); !strings.HasSuffix(got,
		"SignedHeaders=content-type;host;x-amz-date;x-amz-security-token, Signature=ab20fc80ef26b9140427507d39d5fda29ff819bd5d4351adecea14691aa931af") {
		t.Error(got)
	}
	r = request(t, "POST", "https://bedrock-runtime.us-east-1.amazonaws.com/model/"+
		converse.EscapeModel("arn:aws:bedrock:us-east-1:1:inference-profile/x")+"/converse-stream")
	converse.Sign(r, []byte(body), exampleKeys("us-east-1"), exampleTime())
	if got := r.Header.Get("Authorization"); !strings.HasSuffix(got,
		"SignedHeaders=host;x-amz-date, Signature=ff8a739b55232508ccf4f5f312ec40a4110674f2938ea58252fa5a26797d6bf8") {
		t.Error(got)
	}
}
