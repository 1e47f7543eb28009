package event

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Slack rejects longer texts.
const (
	maxLine  = 1500 // characters of a line of a log; a section may have 3000
	maxField = 1900
	maxRegex = 500
	maxWord  = 200
)

type slackMessage struct {
	Blocks      []slackBlock      `json:"blocks"`
	Attachments []slackAttachment `json:"attachments,omitempty"`
}

type slackAttachment struct {
	Color  string       `json:"color"`
	Blocks []slackBlock `json:"blocks"`
}

type slackBlock struct {
	Type   string      `json:"type"`
	Text   slackText   `json:"text"`
	Fields []slackText `json:"fields,omitempty"`
}

type slackText struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

func plain(text string) slackText  { return slackText{"plain_text", text} }
func markup(text string) slackText { return slackText{"mrkdwn", text} }

func section(text slackText, fields ...slackText) slackBlock {
	return slackBlock{Type: "section", Text: text, Fields: fields}
}

// escape makes text of users safe for mrkdwn, with at most this number of characters: without
// it, a name such as <!channel> would notify a whole channel.
func escape(text string, most int) string {
	text = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(clip(text, most))
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	text = clip(text, most)
	if at := strings.LastIndexByte(text, '&'); at > strings.LastIndexByte(text, ';') { // a part of &amp;
		text = text[:at] + "…"
	}
	return text
}

// clip shortens a text to a number of characters.
func clip(text string, most int) string {
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most-1]) + "…"
}

// code is text within ``` marks.
func code(text string, most int) string {
	return "```" + escape(strings.ReplaceAll(text, "```", "'''"), most) + "```"
}

// slackBody is a message in Slack's blocks.
func slackBody(e Event, base string) slackMessage {
	switch {
	case e.Test:
		return slackMessage{Blocks: []slackBlock{section(plain("test"))}}
	case e.TaskLog != nil:
		return slackMessage{Blocks: []slackBlock{section(markup(logText(e, base)))}}
	case e.Experiment == nil:
		return slackMessage{Blocks: []slackBlock{section(plain(e.Type))}}
	}
	x := e.Experiment
	status, color, sign, word := stateWords(x.State)
	if e.Metric != nil {
		status = thresholdText(e)
	}
	name := fmt.Sprintf("%s (#%d)", escape(x.Name, maxWord), x.ID)
	if base != "" {
		name = fmt.Sprintf("<%s/det/experiments/%d/overview | %s>", base, x.ID, name)
	}
	fields := []slackText{
		markup("*Status*: " + escape(word, maxWord)), markup(fmt.Sprintf("*Duration*: %dh %dmin", x.Duration/3600, x.Duration/60%60)),
	}
	if !x.Unnamed {
		fields = append(fields, markup("*Workspace*: "+escape(x.Workspace, maxWord)), markup("*Project*: "+escape(x.Project, maxWord)))
	}
	var says []slackText
	if c := e.Custom; c != nil { // receivers read these by their places
		for _, f := range []struct{ name, text string }{{"Level", c.Level}, {"Title", c.Title}, {"Description", c.Description}} {
			says = append(says, markup("*"+f.name+"*: "+escape(f.text, maxField)))
		}
		if x.TrialID != nil {
			fields = append(fields, markup(fmt.Sprintf("*Trial ID*: %d", *x.TrialID)))
		}
	}
	return slackMessage{Blocks: []slackBlock{section(plain(status), says...)},
		Attachments: []slackAttachment{{Color: color, Blocks: []slackBlock{section(markup(sign+name), fields...)}}}}
}

// stateWords describes the state of an experiment.
func stateWords(state string) (status, color, sign, word string) {
	switch state {
	case "COMPLETED":
		return "Your experiment completed successfully 🎉", "#13B670", "✅ ", "Completed"
	case "ERROR":
		return "Your experiment has stopped with errors", "#DD5040", "❌ ", "Errored"
	}
	return "The status of your experiment is " + state, "#009bde", "", state[:min(1, len(state))] + strings.ToLower(state[min(1, len(state)):])
}

// thresholdText says which value exceeded which threshold.
func thresholdText(e Event) string {
	m, side, limit := e.Metric, "above", e.Condition.Above
	if limit == nil {
		side, limit = "below", e.Condition.Below
	}
	text := fmt.Sprintf("The %s metric %s of your experiment is %g", clip(m.Group, maxWord), clip(m.Name, maxWord), m.Value)
	if limit != nil {
		text += fmt.Sprintf(", %s %g", side, *limit)
	}
	return text
}

// logText says which line of which log matched.
func logText(e Event, base string) string {
	l := e.TaskLog
	who := fmt.Sprintf("Task ID `%s`, task type `%s`", escape(l.TaskID, maxWord), escape(l.TaskType, maxWord))
	page := "/det/tasks/" + escape(l.TaskID, maxWord)
	if l.ExperimentID > 0 {
		who = fmt.Sprintf("Experiment ID `%d`, Trial ID `%d`", l.ExperimentID, l.TrialID)
		page = fmt.Sprintf("/det/experiments/%d/trials/%d/logs", l.ExperimentID, l.TrialID)
	}
	return fmt.Sprintf("%s, running on node `%s`, reported a log\n%s\nThis log matched the regex\n%s\nView full logs at %s%s",
		who, escape(l.Node, maxWord), code(l.Line, maxLine), code(e.Condition.Regex, maxRegex), base, page)
}
