package about

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
)

func (m *master) config(context.Context, *rest.Call, *v1.None) (*v1.GetMasterConfigResponse, error) {
	return &v1.GetMasterConfigResponse{Config: v1.StructOf(m.Redacted())}, nil
}

// patchConfig stores settings for all masters, which apply them without a restart.
func (m *master) patchConfig(ctx context.Context, c *rest.Call, req *v1.PatchMasterConfigRequest) (*v1.Empty, error) {
	names, values, err := settingsOf(req)
	if err != nil {
		return nil, err
	}
	if err := ChangeSettings(ctx, m.DB, c.Who().UserID, names, values); err != nil {
		return nil, err
	}
	for i, name := range names {
		m.Log.Info("an administrator changed the masters' configuration", "username", c.Who().Username, "key", name, "value", values[i])
	}
	m.SettingsChanged(ctx)
	return &v1.Empty{}, nil
}

// settingsOf lists the settings of a request: the fields that its mask names.
func settingsOf(req *v1.PatchMasterConfigRequest) (names, values []string, err error) {
	const known = SettingLogLevel + " and " + SettingLogColor
	if len(req.FieldMask.Paths) == 0 {
		return nil, nil, fault.New(fault.Invalid, "fieldMask.paths: name what is to be set: %s", known)
	}
	for _, path := range req.FieldMask.Paths {
		fields := []string{path}
		if path == "log" {
			fields = []string{SettingLogLevel, SettingLogColor}
		}
		for _, name := range fields {
			var value string
			switch name {
			case SettingLogLevel:
				if !slices.Contains(v1.LogLevels()[1:], req.Config.Log.Level) {
					return nil, nil, fault.New(fault.Invalid, "config.log.level: expected one of %s, found %q",
						strings.Trim(fmt.Sprint(v1.LogLevels()[1:]), "[]"), fault.Clip(string(req.Config.Log.Level)))
				}
				value = strings.ToLower(strings.TrimPrefix(string(req.Config.Log.Level), "LOG_LEVEL_"))
			case SettingLogColor:
				value = strconv.FormatBool(req.Config.Log.Color)
			default:
				return nil, nil, fault.New(fault.Invalid, "fieldMask.paths: %q cannot be set while the masters run, only %s can; change the file of their configuration and restart them", fault.Clip(path), known)
			}
			if !slices.Contains(names, name) {
				names, values = append(names, name), append(values, value)
			}
		}
	}
	return names, values, nil
}
