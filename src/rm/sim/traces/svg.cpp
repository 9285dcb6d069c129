/* See svg.h. */

#include "sim/traces/svg.h"

#include <cstdio>

namespace elastic::rm {

namespace {

/* A tenth of a pixel is enough. */
std::string number(double value)
{
    char text[32];
    snprintf(text, sizeof(text), "%.1f", value);
    return text;
}

std::string attribute(const char *name, const std::string &value)
{
    std::string text = " ";
    text += name;
    text += "=\"";
    text += value;
    text += '"';
    return text;
}

/* As displayed; characters that XML does not permit are omitted. */
std::string escaped(const std::string &plain)
{
    std::string text;
    for (char c : plain) {
        switch (c) {
            case '<': text += "&lt;"; break;
            case '>': text += "&gt;"; break;
            case '&': text += "&amp;"; break;
            case '"': text += "&quot;"; break;
            default:
                if (static_cast<unsigned char>(c) >= ' ')
                    text += c;
        }
    }
    return text;
}

}  // namespace

void Svg::line(Point from, Point to, const std::string &colour)
{
    body_ += "<line" + attribute("x1", number(from.x)) + attribute("y1", number(from.y)) +
        attribute("x2", number(to.x)) + attribute("y2", number(to.y)) +
        attribute("stroke", colour) + "/>\n";
}

void Svg::box(Point from, double width, double height, const std::string &colour,
              const std::string &tip)
{
    body_ += "<rect" + attribute("x", number(from.x)) + attribute("y", number(from.y)) +
        attribute("width", number(width)) + attribute("height", number(height)) +
        attribute("fill", colour);
    body_ += tip.empty() ? "/>\n" : "><title>" + escaped(tip) + "</title></rect>\n";
}

void Svg::path(const std::vector<Point> &points, const std::string &colour)
{
    if (points.size() < 2)
        return;
    std::string list;
    for (const Point &point : points) {
        list += list.empty() ? "" : " ";
        list += number(point.x);
        list += ',';
        list += number(point.y);
    }
    body_ += "<polyline" + attribute("points", list) + attribute("fill", "none") +
        attribute("stroke", colour) + "/>\n";
}

void Svg::text(Point at, const std::string &text, Anchor anchor, bool bold)
{
    const char *where = anchor == Anchor::START  ? "start"
                        : anchor == Anchor::END  ? "end"
                                                 : "middle";
    body_ += "<text" + attribute("x", number(at.x)) + attribute("y", number(at.y)) +
        attribute("text-anchor", where);
    if (bold)
        body_ += attribute("font-weight", "bold");
    body_ += ">" + escaped(text) + "</text>\n";
}

std::string Svg::str() const
{
    std::string width = std::to_string(width_), height = std::to_string(height_);
    return "<svg" + attribute("xmlns", "http://www.w3.org/2000/svg") + attribute("width", width) +
        attribute("height", height) + attribute("viewBox", "0 0 " + width + " " + height) +
        attribute("font-family", "sans-serif") + attribute("font-size", "12") + ">\n" +
        "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n" + body_ + "</svg>\n";
}

}  // namespace elastic::rm
