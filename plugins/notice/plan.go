package main

import (
	"strings"
	"time"

	"github.com/detent-ml/detent/master/pool/leaving"
	"github.com/detent-ml/detent/plugins/notice/cloud"
)

// ours begins the reason of a notice that this program has set, and distinguishes it from one that an operator has set.
const ours = "det-notice: "

// noTime is the value for a notice without a time. The masters take every text that is not a time for such a notice.
const noTime = "unknown"

// plan says what to change in the metadata of the node, so that they have the notice of the cloud, or none if it is nil.
// What an operator has set stays, unless the machine goes away earlier than that.
func plan(meta map[string]string, notice *cloud.Notice) map[string]*string {
	said := meta[leaving.Key]
	isSet := said != "" // the masters take an empty text for no notice
	isOurs := strings.HasPrefix(meta[leaving.WhyKey], ours)
	if notice == nil {
		if !isOurs {
			return nil
		}
		return map[string]*string{leaving.Key: nil, leaving.WhyKey: nil}
	}
	value, why := noTime, ours+notice.Why
	if !notice.At.IsZero() {
		value = notice.At.UTC().Format(time.RFC3339)
	}
	isSame := isOurs && meta[leaving.WhyKey] == why
	at := leaving.At(said) // zero if there is no notice, or none with a time
	switch {
	case isSame && said == value:
		return nil
	case isSame && notice.Counted && !at.IsZero() && at.Before(notice.At):
		return nil // the process before this one saw the notice earlier
	case isSet && !isOurs && (notice.At.IsZero() || !at.IsZero() && !notice.At.Before(at)):
		return nil
	}
	return map[string]*string{leaving.Key: &value, leaving.WhyKey: &why}
}
