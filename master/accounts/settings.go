package accounts

import (
	"context"
	"strings"

	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
)

// Limits of one setting, in bytes.
const (
	maxSettingKey   = 512
	maxSettingValue = 64 << 10
)

func (d Deps) settings(ctx context.Context, c *rest.Call, _ *v1.None) (*v1.GetUserSettingResponse, error) {
	list, err := UserSettings(ctx, d.DB, c.Who().UserID)
	return &v1.GetUserSettingResponse{Settings: each.Of(list, func(s UserSetting) v1.UserWebSetting {
		return v1.UserWebSetting{Key: s.Key, StoragePath: s.StoragePath, Value: s.Value}
	})}, err
}

func (d Deps) setSettings(ctx context.Context, c *rest.Call, req *v1.PostUserSettingRequest) (*v1.None, error) {
	list := make([]UserSetting, 0, len(req.Settings))
	for _, s := range req.Settings {
		switch {
		case s.Key == "":
			return nil, fault.New(fault.Invalid, "settings: each setting needs a key")
		case len(s.Key)+len(s.StoragePath) > maxSettingKey:
			return nil, fault.New(fault.TooLarge, "settings: key and storagePath are over the limit of %d bytes", maxSettingKey)
		case len(s.Value) > maxSettingValue:
			return nil, fault.New(fault.TooLarge, "settings: the value of %s is over the limit of %d bytes", s.Key, maxSettingValue)
		case strings.ContainsRune(s.Key+s.StoragePath+s.Value, 0):
			return nil, fault.New(fault.Invalid, "settings: %q contains a NUL character, which cannot be stored", s.Key)
		}
		list = append(list, UserSetting{StoragePath: s.StoragePath, Key: s.Key, Value: s.Value})
	}
	return &v1.None{}, SetUserSettings(ctx, d.DB, c.Who().UserID, list)
}

func (d Deps) resetSettings(ctx context.Context, c *rest.Call, _ *v1.None) (*v1.None, error) {
	return &v1.None{}, ResetUserSettings(ctx, d.DB, c.Who().UserID)
}
