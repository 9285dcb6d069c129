/* See derive.h. */

#include "store/derive.h"

#include "core/record.h"

namespace elastic::rm {

void derive(Batch &rows, const State &state, const Event &event, const Action &action,
            JobId last_job)
{
    if (auto record = std::get_if<Record>(&action)) {
        rows.records.push_back(*record);
        const Job *job = record->event == record::ENDED ? state.job(record->job) : nullptr;
        if (job)
            rows.ended.push_back(
                {job->id, job->spec.uid, job->submitted_ms, job->ended_ms, write(*job)});
    }
    /* The launch belongs to the created job; a repeated or refused submission has none. */
    auto answer = std::get_if<Answer>(&action);
    if (answer && std::holds_alternative<Submit>(event.content)) {
        bool is_new = answer->code == AnswerCode::OK && answer->job > last_job;
        rows.bound.push_back(
            {event.seq, is_new ? answer->job : 0, is_new ? state.last_job : 0});
    }
}

}  // namespace elastic::rm
