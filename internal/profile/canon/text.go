package canon

// Text says to people what an action stands for.
func (a Action) Text() string {
	switch a {
	case Migrate:
		return "is written in an old form"
	case Unchanged:
		return "is as it should be"
	case ReportStranded:
		return "has no base URL, so requests go to LITELLM_PROXY_API_BASE or to OpenAI; OpenHands has a model of this name"
	case ReportAmbiguous:
		return "has no base URL, so requests go to LITELLM_PROXY_API_BASE or to OpenAI"
	case ReportRetired:
		return "names a model that OpenHands no longer lists; whether its proxy still serves it shows only when it is asked"
	case ReportUnlisted:
		return "has the URL of OpenHands' proxy, which never listed this model"
	case ReportNearMiss:
		return "has the URL of OpenHands' proxy in a spelling that OpenHands does not recognize"
	case ReportLinked:
		return "gets its URL from a provider connection"
	case ReportBadURL:
		return "has a base URL that cannot be split into its parts"
	case ReportLegacyV0:
		return "is of the first OpenHands: a newer one forgets what is in it"
	case ReportIrregular:
		return "would be migrated, but has duplicate members or numbers that JSON does not have"
	case ErrorUnreadable:
		return "cannot be read"
	case ErrorSymlink:
		return "is a symbolic link"
	case ErrorHardlink:
		return "has several names (hard links)"
	case ErrorName:
		return "has a name that OpenHands does not see"
	case ErrorCorrupt:
		return "is not JSON"
	case ErrorNotObject:
		return "is not a JSON object"
	case ErrorSchemaType:
		return "has a schema_version that is no version"
	case ErrorNewer:
		return "is newer than this program knows"
	case ErrorModel:
		return "has no model"
	case ErrorBadURL:
		return "has a base URL that cannot be split into its parts; releases up to 1.43.1 then list no profile at all"
	case ErrorSchema:
		return "has values of a wrong type"
	}
	return ""
}

// Text says to people what a warning stands for.
func (w Warning) Text() string {
	switch w {
	case NullBaseURL:
		return "the base URL is there but empty, over which releases 1.4.0 and 1.4.1 stumble"
	case BlankBaseURL:
		return "the base URL is blank and is sent as it is"
	case PlainHTTP:
		return "the key goes to OpenHands' proxy without encryption"
	}
	return ""
}
