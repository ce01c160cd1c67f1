package canon

// Text says to people what an action stands for.
func (a Action) Text() string {
	switch a {
	case Migrate:
		return "is written in an old form"
	case Unchanged:
		return "ok"
	case ReportStranded:
		return "has no base URL, so requests go to LITELLM_PROXY_API_BASE or to OpenAI; OpenHands has a model of this name"
	case ReportAmbiguous:
		return "has no base URL, so requests go to LITELLM_PROXY_API_BASE or to OpenAI"
	case ReportRetired:
		return "has a retired model, which the proxy may still serve"
	case ReportUnlisted:
		return "base_url is OpenHands' proxy, which never listed this model"
	case ReportNearMiss:
		return "base_url is OpenHands' proxy in a spelling that OpenHands does not recognize"
	case ReportLinked:
		return "gets its URL from a provider connection"
	case ReportBadURL:
		return "base_url is not a valid URL"
	case ReportLegacyV0:
		return "is in the OpenHands 0.x format: a newer OpenHands drops its contents"
	case ReportIrregular:
		return "cannot be migrated: it has duplicate members or invalid numbers"
	case ErrorUnreadable:
		return "cannot be read"
	case ErrorSymlink:
		return "is a symbolic link"
	case ErrorHardlink:
		return "has several names (hard links)"
	case ErrorName:
		return "OpenHands ignores files with this name"
	case ErrorCorrupt:
		return "is not JSON"
	case ErrorNotObject:
		return "is not a JSON object"
	case ErrorSchemaType:
		return "schema_version is not a valid version"
	case ErrorNewer:
		return "was written by a newer OpenHands than this ohgw knows"
	case ErrorModel:
		return "has no model"
	case ErrorBadURL:
		return "base_url is not a valid URL; OpenHands up to 1.43.1 then lists no profiles at all"
	case ErrorSchema:
		return "has values of a wrong type"
	}
	return ""
}

// Text says to people what a warning stands for.
func (w Warning) Text() string {
	switch w {
	case NullBaseURL:
		return "base_url is present but empty, which OpenHands 1.4.0 and 1.4.1 reject"
	case BlankBaseURL:
		return "base_url is blank and is used as it is"
	case PlainHTTP:
		return "the key is sent to OpenHands' proxy unencrypted"
	}
	return ""
}
