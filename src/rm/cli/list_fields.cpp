/* See list_fields.h. */

#include "cli/list_fields.h"

#include <algorithm>
#include <sstream>

namespace elastic {

const Field *FieldTable::find(const std::string &name) const
{
    std::string wanted = name;
    std::ranges::transform(wanted, wanted.begin(), [](char c) {
        return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    for (const Field &field : fields_) {
        std::istringstream names(field.names);
        for (std::string each; std::getline(names, each, ',');) {
            if (each == wanted)
                return &field;
        }
    }
    return nullptr;
}

const Field *FieldTable::find(char letter) const
{
    for (const Field &field : fields_) {
        if (letter && field.letter == letter)
            return &field;
    }
    return nullptr;
}

std::string FieldTable::names() const
{
    std::string text;
    for (const Field &field : fields_) {
        std::string names = field.names;
        text += (text.empty() ? "" : ", ") + names.substr(0, names.find(','));
    }
    return text;
}

std::string FieldTable::letters() const
{
    std::string text;
    for (const Field &field : fields_) {
        if (field.letter)
            text += (text.empty() ? "%" : ", %") + std::string(1, field.letter);
    }
    return text;
}

int compare(const FieldValue &x, const FieldValue &y)
{
    if (x.number && y.number)
        return *x.number < *y.number ? -1 : *x.number > *y.number;
    return x.text.compare(y.text);
}

}  // namespace elastic
