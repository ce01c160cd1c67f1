package converse

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Credentials are those of an AWS account, for one region.
type Credentials struct {
	AccessKeyID     string
	SecretAccessKey string
	SessionToken    string // may be empty
	Region          string
}

const (
	algorithm = "AWS4-HMAC-SHA256"
	service   = "bedrock"
	amzTime   = "20060102T150405Z"
)

// Sign signs a request with AWS Signature Version 4. It sets X-Amz-Date,
// X-Amz-Security-Token and Authorization; nothing that is signed may change
// afterwards.
func Sign(r *http.Request, body []byte, c Credentials, now time.Time) {
	signFor(service, r, body, c, now)
}

func signFor(service string, r *http.Request, body []byte, c Credentials, now time.Time) {
	stamp := now.UTC().Format(amzTime)
	r.Header.Set("X-Amz-Date", stamp)
	if c.SessionToken != "" {
		r.Header.Set("X-Amz-Security-Token", c.SessionToken)
	}
	names, headers := canonicalHeaders(r)
	canonical := strings.Join([]string{
		r.Method, canonicalPath(r.URL), canonicalQuery(r.URL), headers, names, hash(body),
	}, "\n")
	date := stamp[:8]
	scope := strings.Join([]string{date, c.Region, service, "aws4_request"}, "/")
	toSign := strings.Join([]string{algorithm, stamp, scope, hash([]byte(canonical))}, "\n")
	key := []byte("AWS4" + c.SecretAccessKey)
	for _, part := range []string{date, c.Region, service, "aws4_request"} {
		key = mac(key, part)
	}
	r.Header.Set("Authorization", algorithm+" Credential="+c.AccessKeyID+"/"+scope+
		", SignedHeaders="+names+", Signature="+hex.EncodeToString(mac(key, toSign)))
}

// canonicalHeaders selects the headers that are signed: the host and those of Amazon,
// and the type of the content.
func canonicalHeaders(r *http.Request) (names, lines string) {
	host := r.Host
	if host == "" {
		host = r.URL.Host
	}
	values := map[string]string{"host": host}
	for name, list := range r.Header {
		lower := strings.ToLower(name)
		if lower == "content-type" || strings.HasPrefix(lower, "x-amz-") {
			values[lower] = strings.TrimSpace(strings.Join(list, ","))
		}
	}
	var keys []string
	for name := range values {
		keys = append(keys, name)
	}
	slices.Sort(keys)
	var b strings.Builder
	for _, name := range keys {
		b.WriteString(name + ":" + values[name] + "\n")
	}
	return strings.Join(keys, ";"), b.String()
}

// canonicalPath is the path with every segment escaped once more than it is
// sent, as all of Amazon's services but one want it.
func canonicalPath(u *url.URL) string {
	path := u.EscapedPath()
	if path == "" {
		return "/"
	}
	segments := strings.Split(path, "/")
	for i, s := range segments {
		segments[i] = escape(s)
	}
	return strings.Join(segments, "/")
}

func canonicalQuery(u *url.URL) string {
	var pairs []string
	for name, values := range u.Query() {
		for _, v := range values {
			pairs = append(pairs, escape(name)+"="+escape(v))
		}
	}
	slices.Sort(pairs)
	return strings.Join(pairs, "&")
}

const unreserved = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~"

// escape escapes all but RFC 3986's unreserved characters.
func escape(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if strings.IndexByte(unreserved, s[i]) >= 0 {
			b.WriteByte(s[i])
			continue
		}
		b.WriteString("%" + strings.ToUpper(hex.EncodeToString([]byte{s[i]})))
	}
	return b.String()
}

// EscapeModel is a model's id as a segment of a path: ids have colons, and
// those of inference profiles slashes.
func EscapeModel(id string) string { return escape(id) }

func hash(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func mac(key []byte, s string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(s))
	return h.Sum(nil)
}
