package weather

import (
	"hash/fnv"
	"math"
	"math/rand/v2"
	"time"
)

// Day is one computed day, in metric units.
type Day struct {
	Date              time.Time
	Condition         string
	High, Low         float64 // °C
	Precipitation     float64 // mm
	PrecipProbability int     // percent
	Wind              float64 // km/h
	Humidity          int     // percent
}

// memory is the number of days that a weather anomaly lasts in the computation.
const memory = 6

// Forecast computes the weather of a city on a date from its normals. It
// depends on nothing but the city and the date, so overlapping forecasts
// agree, and the same question always has the same answer.
func (c *City) Forecast(date time.Time) Day {
	day := Day{Date: date}

	// Temperatures: the normal of the day plus an anomaly that fades over days.
	anomaly, weight := 0.0, 1.0
	for back := range memory {
		anomaly += weight * c.dice(date.AddDate(0, 0, -back), "temperature").NormFloat64()
		weight *= 0.65
	}
	spread := (c.normal(&c.High, date) - c.normal(&c.Low, date)) / 2
	local := c.dice(date, "day")
	day.High = round(c.normal(&c.High, date)+anomaly*1.6+local.NormFloat64()*0.8, 1)
	day.Low = round(min(c.normal(&c.Low, date)+anomaly*1.3+local.NormFloat64()*0.6, day.High-spread/2), 1)

	// Rain: wet days come in spells, because half of the draw is yesterday's.
	wetDays := c.normal(&c.WetDays, date)
	probability := min(wetDays/30, 0.95)
	today, yesterday := c.dice(date, "rain").Float64(), c.dice(date.AddDate(0, 0, -1), "rain").Float64()
	day.PrecipProbability = int(math.Round(100 * min(0.98, max(0, probability*(1.6-1.2*yesterday)))))
	if wet := today*0.75+yesterday*0.25 < wetThreshold(probability); wet {
		perWetDay := c.normal(&c.Precipitation, date) / max(wetDays, 1)
		day.Precipitation = round(max(0.2, local.ExpFloat64()*perWetDay), 1)
		day.PrecipProbability = max(day.PrecipProbability, 40+int(local.Float64()*50))
	}
	day.Wind = round(6+local.ExpFloat64()*5+min(day.Precipitation, 20)*0.6, 0)
	day.Humidity = int(math.Round(min(98, 45+probability*55+local.NormFloat64()*7+min(day.Precipitation, 10))))
	day.Condition = condition(day, local.Float64())
	return day
}

// wetThreshold maps a probability to the quantile of the mixed draw of two
// uniform numbers (weights 0.75 and 0.25), whose distribution is a trapezoid.
func wetThreshold(p float64) float64 {
	switch {
	case p < 1.0/6:
		return math.Sqrt(p * 0.375)
	case p < 5.0/6:
		return 0.25 + (p-1.0/6)*0.75
	default:
		return 1 - math.Sqrt((1-p)*0.375)
	}
}

func condition(day Day, sky float64) string {
	mean := (day.High + day.Low) / 2
	switch {
	case day.Precipitation > 0 && day.High <= 1.5:
		return "snow"
	case day.Precipitation > 0 && mean <= 2:
		return "sleet"
	case day.Precipitation >= 8 && day.High >= 24 && sky < 0.6:
		return "thunderstorm"
	case day.Precipitation >= 12:
		return "heavy_rain"
	case day.Precipitation > 0:
		return "rain"
	case day.Humidity >= 92 && sky < 0.4:
		return "fog"
	case sky*100 < float64(day.Humidity)-45:
		return "cloudy"
	case sky*100 < float64(day.Humidity)-20:
		return "partly_cloudy"
	}
	return "clear"
}

// normal interpolates a monthly series to a day: the month's value applies in
// the middle of the month.
func (c *City) normal(series *[12]float64, date time.Time) float64 {
	days := time.Date(date.Year(), date.Month()+1, 0, 0, 0, 0, 0, time.UTC).Day()
	offset := (float64(date.Day())-0.5)/float64(days) - 0.5
	month := int(date.Month()) - 1
	neighbour := (month + 1) % 12
	if offset < 0 {
		neighbour = (month + 11) % 12
	}
	return series[month] + math.Abs(offset)*(series[neighbour]-series[month])
}

// dice returns the random numbers of a city, a date and a purpose.
func (c *City) dice(date time.Time, purpose string) *rand.Rand {
	h := fnv.New64a()
	_, _ = h.Write([]byte(c.Name + "\x00" + date.Format(time.DateOnly) + "\x00" + purpose)) // never fails
	return rand.New(rand.NewPCG(h.Sum64(), 0x5eed))
}

func round(v float64, digits int) float64 {
	scale := math.Pow10(digits)
	return math.Round(v*scale)/scale + 0 // + 0 turns -0 into 0
}
