package main

// fieldWords say of fields what neither their name nor their type does.
var fieldWords = map[string]string{
	"page": "counted from 1", "pageSize": "items on a full page", "grain": "length of a bucket", "bucket": "when it begins",
	"day": "2006-01-02", "month": "2006-01", "offsetMinutes": "zone of the days, minutes east of UTC", "timezone": "an IANA zone", "timeZone": "an IANA zone",
	"expectedUpdatedAt": "refuse when it changed after this", "expectedVersion": "refuse when this is not the latest version",
	"next":    "the key of the next step",
	"default": "when no value is given", "amount": "in units of Unit",
}

// queryWords say what a query key asks for.
var queryWords = map[string]string{
	"limit": "0: the server's default of 25; at most 100", "cursor": "from the page before", "pageToken": "from the page before", "offset": "how many to pass over", "page": "counted from 1; 0: the first",
	"pageSize": "0: the server's default", "q": "words to look for", "search": "words to look for", "query": "words to look for", "sort": "empty: the server's order", "since": "not before", "until": "before",
	"from": "not before", "to": "before", "days": "how many days back", "minutes": "how many minutes back", "offsetMinutes": "zone of the days, minutes east of UTC", "grain": "length of a bucket",
	"after": "the Next of the page before", "confirm": "what the server asks to be repeated", "reassignTo": "the role that its members get", "deep": "ask the mail server too", "refresh": "look the records up anew",
	"includeMachine": "count programs too", "failedOnly": "only those that failed", "timezone": "an IANA zone",
}

func queryComment(key, typ string) string {
	w := queryWords[key]
	switch {
	case typ != "*bool":
		return w
	case w == "":
		return "nil: either"
	}
	return w + "; nil: either"
}
