// Package weather is the demo server for climate and forecasts of two dozen
// cities. The normals are rounded 1991–2020 figures; forecasts are computed
// from them and depend only on city and date. Start at [New].
package weather

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/mcpgen/mcpgen/cmd/mcpdemo/internal/tool"
)

// New returns the weather server. Every tool call takes at least the latency,
// as if the data came over a network.
func New(latency time.Duration) (*tool.Server, error) {
	svc := &service{}
	if err := json.Unmarshal(climateJSON, &svc.cities); err != nil {
		return nil, fmt.Errorf("read the climate normals: %w", err)
	}
	s := tool.NewServer("mcpdemo-weather", "Weather",
		"Climate normals and computed forecasts for a fixed set of cities. Call list_cities for the names; names are matched without regard to case and accents. Forecasts for several cities are independent calls and can run in parallel.")
	s.Delay(latency)
	svc.addTools(s)
	return s, nil
}

type service struct{ cities []City }

func (svc *service) addTools(s *tool.Server) {
	tool.Add(s, tool.Spec{Name: "list_cities", Title: "List cities", Effect: tool.Reads,
		Description: "List the cities that have climate and forecast data, sorted by name, with country, coordinates and time zone. Filter by continent or country; without a filter all cities are returned (about two dozen)."}, svc.listCities)
	tool.Add(s, tool.Spec{Name: "find_nearest_city", Title: "Find nearest city", Effect: tool.Reads,
		Description: "Find the cities with data nearest to a point, with great-circle distances in kilometres. Use it when a place is not in list_cities and its coordinates are known."}, svc.findNearest)
	tool.Add(s, tool.Spec{Name: "get_climate", Title: "Get climate normals", Effect: tool.Reads,
		Description: "Get a city's climate normals (1991–2020, rounded): for each month the mean, mean daily maximum and minimum temperature, precipitation, and days with rain or snow, plus the year as a whole. Give months to get only some of them."}, svc.getClimate)
	tool.Add(s, tool.Spec{Name: "get_forecast", Title: "Get forecast", Effect: tool.Reads,
		Description: "Get a daily forecast for a city, from 1 to 16 days, starting today (in the city's time zone) or at start_date. " +
			"Forecasts are simulated from climate normals: the same city and date always give the same weather. Temperatures are °C or °F, precipitation mm or inches, wind km/h or mph, by units."}, svc.getForecast)
}

// city finds a city by name.
func (svc *service) city(name string) (*City, error) {
	for i := range svc.cities {
		if fold(svc.cities[i].Name) == fold(name) {
			return &svc.cities[i], nil
		}
	}
	return nil, fmt.Errorf("no data for city %q; call list_cities for the names", name)
}

func (svc *service) listCities(_ context.Context, in listCitiesInput) (listCitiesOutput, error) {
	out := listCitiesOutput{Cities: []cityInfo{}}
	for _, c := range svc.cities {
		country := fold(in.Country)
		if in.Continent != "" && c.Continent != in.Continent ||
			country != "" && country != fold(c.Country) && country != fold(c.CountryCode) {
			continue
		}
		out.Cities = append(out.Cities, c.cityInfo)
	}
	out.Count = len(out.Cities)
	return out, nil
}

func (svc *service) findNearest(_ context.Context, in nearestInput) (nearestOutput, error) {
	var out nearestOutput
	for _, c := range svc.cities {
		out.Cities = append(out.Cities, nearCity{c.cityInfo, math.Round(distance(in.Latitude, in.Longitude, c.Coordinates.Latitude, c.Coordinates.Longitude))})
	}
	slices.SortStableFunc(out.Cities, func(a, b nearCity) int { return cmp.Compare(a.DistanceKM, b.DistanceKM) })
	out.Cities = out.Cities[:min(in.Limit, len(out.Cities))]
	return out, nil
}

func (svc *service) getClimate(_ context.Context, in climateInput) (climateOutput, error) {
	c, err := svc.city(in.City)
	if err != nil {
		return climateOutput{}, err
	}
	u := unitsOf(in.Units)
	out := climateOutput{City: c.cityInfo, Units: u.names, Months: []monthNormals{}}
	var mean, rain, wet float64
	for m := range 12 {
		monthMean := (c.High[m] + c.Low[m]) / 2
		mean += monthMean / 12
		rain += c.Precipitation[m]
		wet += c.WetDays[m]
		if len(in.Months) > 0 && !slices.Contains(in.Months, m+1) {
			continue
		}
		out.Months = append(out.Months, monthNormals{
			Month: m + 1, Name: time.Month(m + 1).String(),
			Mean: u.temperature(monthMean), High: u.temperature(c.High[m]), Low: u.temperature(c.Low[m]),
			Precipitation: u.precipitation(c.Precipitation[m]), WetDays: c.WetDays[m],
		})
	}
	out.Annual = annualNormals{Mean: u.temperature(mean), Precipitation: u.precipitation(rain), WetDays: wet}
	return out, nil
}

func (svc *service) getForecast(_ context.Context, in forecastInput) (forecastOutput, error) {
	c, err := svc.city(in.City)
	if err != nil {
		return forecastOutput{}, err
	}
	start, err := startDate(c, in.StartDate)
	if err != nil {
		return forecastOutput{}, err
	}
	u := unitsOf(in.Units)
	out := forecastOutput{City: c.cityInfo, Units: u.names, StartDate: start.Format(time.DateOnly)}
	for i := range in.Days {
		d := c.Forecast(start.AddDate(0, 0, i))
		info := forecastDay{
			Date: d.Date.Format(time.DateOnly), Weekday: d.Date.Weekday().String(), Condition: d.Condition,
			High: u.temperature(d.High), Low: u.temperature(d.Low),
			PrecipProbability: d.PrecipProbability, Precipitation: u.precipitation(d.Precipitation),
			WindSpeed: u.speed(d.Wind), Humidity: d.Humidity,
		}
		if warning := warn(d); warning != "" {
			info.Warning = &warning
		}
		out.Days = append(out.Days, info)
	}
	return out, nil
}

// startDate reads a date, or takes today's in the city.
func startDate(c *City, text string) (time.Time, error) {
	if text == "" {
		now := time.Now().UTC()
		// A machine without time zone data still answers, in UTC.
		if zone, err := time.LoadLocation(c.Timezone); err == nil {
			now = now.In(zone)
		}
		return time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, time.UTC), nil
	}
	date, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return time.Time{}, fmt.Errorf("start_date %q is not a date of the form YYYY-MM-DD", text)
	}
	return date, nil
}

// warn returns a warning about a day, or "".
func warn(d Day) string {
	switch {
	case d.High >= 38:
		return "extreme heat"
	case d.Low <= -15:
		return "extreme cold"
	case d.Condition == "snow" && d.Precipitation >= 10:
		return "heavy snowfall"
	case d.Precipitation >= 30:
		return "heavy rain, local flooding possible"
	case d.Wind >= 40:
		return "strong wind"
	}
	return ""
}
