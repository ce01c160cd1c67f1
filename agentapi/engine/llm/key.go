package llm

import (
	"context"
	"fmt"
	"strings"

	"github.com/ohgw/ohgw/agentapi/engine/llm/wire/converse"
	"github.com/ohgw/ohgw/internal/redact"
)

// credentials are what one call identifies itself with.
type credentials struct {
	key string
	aws converse.Credentials
}

// tokenPrefix begins every Fernet token: an encrypted key that nobody
// decrypted.
const tokenPrefix = "gAAAAA"

// credentials finds the keys of a call.
func (m *model) credentials(ctx context.Context) (credentials, error) {
	var c credentials
	fields := map[string]*string{FieldAPIKey: &c.key}
	if m.route.style == converseStyle {
		fields[FieldAWSAccessKeyID] = &c.aws.AccessKeyID
		fields[FieldAWSSecretAccessKey] = &c.aws.SecretAccessKey
		fields[FieldAWSSessionToken] = &c.aws.SessionToken
	}
	for field, to := range fields {
		v, err := m.cfg.Key(ctx, field)
		if err != nil {
			return credentials{}, m.keyError(ctx, err)
		}
		if strings.HasPrefix(v, tokenPrefix) {
			return credentials{}, newError(CodeAuthentication, fmt.Sprintf(
				"the profile's %s is encrypted, and the secret to decrypt it is not known. Set OH_SECRET_KEY, or store the key again", field), nil)
		}
		*to = strings.TrimSpace(v)
	}
	c.aws.Region = m.route.region
	return c, m.checkKeys(c)
}

func (m *model) keyError(ctx context.Context, err error) error {
	if gone := ctx.Err(); gone != nil {
		return gone
	}
	return newError(CodeAuthentication, "read the profile's key: "+redact.Text(err.Error()), nil)
}

// checkKeys refuses a call that the provider would: it says what to do instead
// of 401.
func (m *model) checkKeys(c credentials) error {
	p := m.route.provider
	switch {
	case c.key != "" || p.keyless || m.route.custom && p.style != converseStyle:
		return nil
	case p.style == converseStyle && c.aws.AccessKeyID != "" && c.aws.SecretAccessKey != "":
		return nil
	case p.style == converseStyle:
		return newError(CodeAuthentication,
			"there are no AWS credentials for this profile. Set aws_access_key_id and aws_secret_access_key in it, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_BEARER_TOKEN_BEDROCK", nil)
	}
	if m.hasAuthHeader() {
		return nil
	}
	return newError(CodeAuthentication, fmt.Sprintf("there is no key for models of %q. Store one with ohgw keys set %s, or set %s", p.prefix, m.cfg.Name, p.keyVar), nil)
}

// hasAuthHeader reports whether the profile brings its own header for a key.
func (m *model) hasAuthHeader() bool {
	for name := range m.cfg.Profile.ExtraHeaders {
		switch strings.ToLower(name) {
		case "authorization", "api-key", "x-api-key", "x-goog-api-key":
			return true
		}
	}
	return false
}

// cleaner takes the call's keys out of a text, and what looks like another.
func (m *model) cleaner(c credentials) func(string) string {
	const shortest = 6 // shorter ones would be found everywhere
	values := append(m.cfg.Profile.secrets(), c.key, c.aws.AccessKeyID, c.aws.SecretAccessKey, c.aws.SessionToken)
	var pairs []string
	for _, v := range values {
		if len(v) >= shortest {
			pairs = append(pairs, v, redact.Mark)
		}
	}
	replace := strings.NewReplacer(pairs...)
	return func(s string) string { return redact.Text(replace.Replace(s)) }
}
